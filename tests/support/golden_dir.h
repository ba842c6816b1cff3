#pragma once

namespace sotta::testing {

// The folder tests/golden of this checkout. A function, for a path in every
// compile command would keep what one clone has compiled from serving another.
const char* golden_dir();

}  // namespace sotta::testing
