#include "corrupt/filters/noise_field.h"

namespace sotta {

void draw_normals(Rng& rng, double* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    values[i] = rng.normal();
}

void draw_uniforms(Rng& rng, double* values, int64_t count, double low,
                   double high) {
  for (int64_t i = 0; i < count; ++i)
    values[i] = rng.uniform(low, high);
}

}  // namespace sotta
