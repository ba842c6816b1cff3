#include "train/schedule.h"

#include <cmath>

namespace sotta {

double cosine_rate(double rate, int64_t step, int64_t steps) {
  constexpr double kPi = 3.14159265358979323846;
  const double share = static_cast<double>(step) / static_cast<double>(steps);
  return rate * (1 + std::cos(kPi * share)) / 2;
}

}  // namespace sotta
