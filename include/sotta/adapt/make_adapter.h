#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sotta/adapt/adapter.h"
#include "sotta/adapt/guard.h"
#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"
#include "sotta/core/options.h"

namespace sotta {

// The methods there are, by the names used on the command line.
std::vector<std::string> method_names();

// A method's options under a preset, in the order of its options struct. Throws
// Error(kInvalid) for an unknown name, as make_adapter() does.
std::vector<OptionField> method_options(const std::string& method,
                                        Preset preset, int64_t classes);

// A method by name: the preset's options with `changes` on top. For putting
// something in front of it, such as make_odin_screen().
std::unique_ptr<Method> make_method(const std::string& method,
                                    const MethodContext& context,
                                    Preset preset = Preset::kClean,
                                    const OptionMap& changes = {});

// An adapter by name, likewise. Throws Error(kInvalid) for unknown names and
// values out of range.
std::unique_ptr<Adapter> make_adapter(const std::string& method,
                                      const MethodContext& context,
                                      Preset preset = Preset::kClean,
                                      const OptionMap& changes = {},
                                      const GuardOptions& guard = {});

}  // namespace sotta
