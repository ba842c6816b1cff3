#pragma once

#include <cstdint>

namespace sotta {

// Scenario noise draws its images from so many that two draws hardly ever meet;
// they are made when they are read.
constexpr int64_t kNoiseImages = int64_t{1} << 40;

}  // namespace sotta
