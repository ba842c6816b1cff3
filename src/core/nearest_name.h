#pragma once

#include <string>
#include <vector>

namespace sotta {

// The known name nearest to what was typed; empty if none is near enough to be
// meant.
std::string nearest_name(const std::string& name,
                         const std::vector<std::string>& known);

}  // namespace sotta
