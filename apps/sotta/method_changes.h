#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotta/adapt/make_adapter.h"

namespace sotta::cli {

// "name=value" pairs of --set, each read as the type the method's option has.
// Throws Error(kInvalid) for an unknown name and a value of another type.
OptionMap parse_method_changes(const std::string& method, Preset preset,
                               int64_t classes,
                               const std::vector<std::string>& changes);

}  // namespace sotta::cli
