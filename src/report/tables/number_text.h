#pragma once

#include <cstdint>
#include <string>

namespace sotta {

// "82.25" with that many digits behind the point; never "-0.0". The minus is
// the typographic one, so that it has the width of the plus.
std::string fixed(double value, int digits);

// fixed() with a plus in front of what is above zero.
std::string signed_fixed(double value, int digits);

// As short as reads back within six digits: "0.99", "20000"; a plain minus.
// For files that programs read, and for coordinates.
std::string shortest(double value);

// "1 seed", "3 seeds".
std::string counted(int64_t number, const std::string& noun);

}  // namespace sotta
