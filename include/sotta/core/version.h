#pragma once

namespace sotta {

// The library's version, "major.minor.patch".
const char* version();

}  // namespace sotta
