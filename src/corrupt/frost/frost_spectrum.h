#pragma once

#include <array>
#include <functional>
#include <vector>

#include "sotta/core/rng.h"

#include "corrupt/frost/frost_recipe.h"

namespace sotta {

// Random fields with a given spectrum, of which frost textures are made. All
// arithmetic is in double and independent of the thread count.

// A picture of one value per pixel, row-major.
struct Field {
  int64_t height;
  int64_t width;
  std::vector<double> values;
};

// Amplitudes on the frequencies of a real 1024 x 1024 field: 1024 rows of the
// 513 columns that are not negative.
using Amplitudes = std::vector<double>;

// Amplitudes of a field whose variance in octaves 3 to 10 is that of `shares`,
// zero below.
Amplitudes octave_amplitudes(const std::array<double, kFrostOctaves>& shares);

// Amplitudes `shape(frequency)`, scaled to a field of variance 1.
Amplitudes unit_amplitudes(const std::function<double(double)>& shape);

// The part of a spectrum that belongs to orientation `band` of 0..5, which are
// 30 degrees apart. The squares of the six windows add up to 1.
Amplitudes orientation_band(const Amplitudes& amplitudes, int64_t band);

// A normal random field with this spectrum: the top left window of a periodic
// field of 1024 x 1024.
Field random_field(const Amplitudes& amplitudes, int64_t height, int64_t width,
                   Rng stream);

// Random large-scale structure: cosines over the window in octaves 0 to 2. The
// variance of each octave is its share exactly.
Field random_layout(const std::array<double, kFrostOctaves>& shares,
                    int64_t height, int64_t width, Rng stream);

}  // namespace sotta
