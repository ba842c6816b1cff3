#pragma once

#include <map>
#include <string>

#include "sotta/data/array.h"

namespace sotta {

// Removes the prefix from all names that begin with it. Throws Error(kInvalid)
// naming `subject` if none does or two names would become one.
void strip_prefix(std::map<std::string, Array>& tensors,
                  const std::string& prefix, const std::string& subject);

// Whether there are names and all of them begin with the prefix.
bool all_begin_with(const std::map<std::string, Array>& tensors,
                    const std::string& prefix);

}  // namespace sotta
