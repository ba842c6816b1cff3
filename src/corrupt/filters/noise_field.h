#pragma once

#include <cstdint>

#include "sotta/core/rng.h"

namespace sotta {

// Fields of independent numbers, one draw per element in memory order.
void draw_normals(Rng& rng, double* values, int64_t count);
void draw_uniforms(Rng& rng, double* values, int64_t count, double low,
                   double high);

}  // namespace sotta
