#include "corrupt/frost/frost_spectrum.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/fft_irfft2.h>

namespace sotta {
namespace {

constexpr double kPi = 3.141592653589793;
constexpr int64_t kSide = 1024;
constexpr int64_t kColumns = kSide / 2 + 1;
constexpr int64_t kFirstHighOctave = 3;

// Calls visit(index, fy, fx, copies) for every kept frequency, in cycles per
// pixel. `copies` counts the frequency and its mirror image, which is not kept.
template <class Visit>
void for_each_frequency(const Visit& visit) {
  for (int64_t row = 0; row < kSide; ++row) {
    const int64_t ky = row <= kSide / 2 ? row : row - kSide;
    for (int64_t column = 0; column < kColumns; ++column) {
      const bool own_mirror = column == 0 || column == kSide / 2;
      visit(static_cast<size_t>(row * kColumns + column),
            static_cast<double>(ky) / kSide,
            static_cast<double>(column) / kSide, own_mirror ? 1 : 2);
    }
  }
}

// -1 for the constant.
int64_t octave_of(double frequency) {
  if (frequency == 0) return -1;
  return std::ilogb(frequency) + 11;
}

// Power per frequency as a function of the frequency: log-linear between the
// centres of the octaves that have any, constant outside.
class PowerDensity {
 public:
  PowerDensity(const std::array<double, kFrostOctaves>& shares,
               const std::array<double, kFrostOctaves>& counts) {
    for (size_t o = 0; o < kFrostOctaves; ++o)
      if (shares[o] > 0 && counts[o] > 0)
        nodes_.emplace_back(static_cast<double>(o) - 10.5,
                            std::log2(shares[o] / counts[o]));
  }

  double operator()(double frequency) const {
    const double x = std::log2(frequency);
    if (x <= nodes_.front().first) return std::exp2(nodes_.front().second);
    if (x >= nodes_.back().first) return std::exp2(nodes_.back().second);
    const auto right = std::upper_bound(nodes_.begin(), nodes_.end(),
                                        std::make_pair(x, HUGE_VAL));
    const auto left = right - 1;
    const double t = (x - left->first) / (right->first - left->first);
    return std::exp2(left->second + t * (right->second - left->second));
  }

 private:
  std::vector<std::pair<double, double>> nodes_;  // log2 of both
};

// One of -1, 1 for each of the word's 64 bits in turn.
double next_sign(uint64_t& bits) {
  const double sign = (bits & 1) != 0 ? 1.0 : -1.0;
  bits >>= 1;
  return sign;
}

// Cosine k of the orthonormal transform of n samples.
std::vector<double> cosine_mode(int64_t k, int64_t n) {
  std::vector<double> mode(static_cast<size_t>(n));
  const auto length = static_cast<double>(n);
  const double scale = std::sqrt((k == 0 ? 1.0 : 2.0) / length);
  for (size_t i = 0; i < mode.size(); ++i)
    mode[i] = scale * std::cos(kPi * (static_cast<double>(i) + 0.5) *
                               static_cast<double>(k) / length);
  return mode;
}

void add_mode(Field& field, double coefficient, int64_t ky, int64_t kx) {
  const auto down = cosine_mode(ky, field.height);
  const auto across = cosine_mode(kx, field.width);
  auto value = field.values.begin();
  for (const double y : down)
    for (const double x : across)
      *value++ += coefficient * y * x;
}

struct Mode {
  int64_t octave;
  int64_t ky;
  int64_t kx;
  double coefficient;
};

std::vector<Mode> random_modes(int64_t height, int64_t width, Rng& stream) {
  const auto rows = static_cast<double>(height);
  const auto columns = static_cast<double>(width);
  std::vector<Mode> modes;
  // Beyond side/128 half-waves the octave is at least 3.
  for (int64_t ky = 0; ky <= height / 128; ++ky)
    for (int64_t kx = 0; kx <= width / 128; ++kx) {
      const int64_t octave =
          octave_of(std::hypot(0.5 * static_cast<double>(ky) / rows,
                               0.5 * static_cast<double>(kx) / columns));
      if (octave >= 0 && octave < kFirstHighOctave)
        modes.push_back({octave, ky, kx, stream.normal()});
    }
  return modes;
}

}  // namespace

Amplitudes octave_amplitudes(const std::array<double, kFrostOctaves>& shares) {
  std::array<double, kFrostOctaves> counts{};
  for_each_frequency([&](size_t, double fy, double fx, int copies) {
    const int64_t octave = octave_of(std::hypot(fy, fx));
    if (octave >= 0) counts[static_cast<size_t>(octave)] += copies;
  });

  const PowerDensity density(shares, counts);
  Amplitudes powers(kSide * kColumns);
  std::array<double, kFrostOctaves> totals{};
  for_each_frequency([&](size_t i, double fy, double fx, int copies) {
    const double frequency = std::hypot(fy, fx);
    const int64_t octave = octave_of(frequency);
    if (octave < kFirstHighOctave) return;
    powers[i] = density(frequency);
    totals[static_cast<size_t>(octave)] += copies * powers[i];
  });

  for_each_frequency([&](size_t i, double fy, double fx, int) {
    if (powers[i] == 0) return;
    const auto octave = static_cast<size_t>(octave_of(std::hypot(fy, fx)));
    powers[i] = std::sqrt(powers[i] * shares[octave] / totals[octave]);
  });
  return powers;
}

Amplitudes unit_amplitudes(const std::function<double(double)>& shape) {
  Amplitudes amplitudes(kSide * kColumns);
  double power = 0;
  for_each_frequency([&](size_t i, double fy, double fx, int copies) {
    amplitudes[i] = shape(std::hypot(fy, fx));
    power += copies * amplitudes[i] * amplitudes[i];
  });
  for (double& amplitude : amplitudes)
    amplitude /= std::sqrt(power);
  return amplitudes;
}

Amplitudes orientation_band(const Amplitudes& amplitudes, int64_t band) {
  Amplitudes windowed(amplitudes.size());
  const double centre = static_cast<double>(band) * kPi / 6;
  for_each_frequency([&](size_t i, double fy, double fx, int) {
    if (amplitudes[i] == 0) return;
    const double turn = std::remainder(std::atan2(fy, fx) - centre, kPi);
    if (std::abs(turn) < kPi / 6)
      windowed[i] = amplitudes[i] * std::abs(std::cos(3 * turn));
  });
  return windowed;
}

// Random signs instead of normal coefficients: the sum of thousands of waves is
// normal either way, and a sign costs one bit.
Field random_field(const Amplitudes& amplitudes, int64_t height, int64_t width,
                   Rng stream) {
  at::Tensor spectrum = at::empty({kSide, kColumns}, at::kComplexDouble);
  auto* coefficients = spectrum.data_ptr<c10::complex<double>>();
  uint64_t bits = 0;
  for_each_frequency([&](size_t i, double, double, int copies) {
    if (i % 32 == 0) bits = stream.next();
    const double scale = amplitudes[i] / std::sqrt(static_cast<double>(copies));
    const double real = scale * next_sign(bits);
    coefficients[i] = {real, scale * next_sign(bits)};
  });

  const at::Tensor wide =
      at::fft_irfft2(spectrum, at::OptionalIntArrayRef(), {-2, -1}, "forward");
  const at::Tensor window =
      wide.narrow(0, 0, height).narrow(1, 0, width).contiguous();
  const auto* values = window.data_ptr<double>();
  return {height, width, {values, values + window.numel()}};
}

Field random_layout(const std::array<double, kFrostOctaves>& shares,
                    int64_t height, int64_t width, Rng stream) {
  const auto modes = random_modes(height, width, stream);
  std::array<double, kFirstHighOctave> powers{};
  for (const Mode& mode : modes)
    powers[static_cast<size_t>(mode.octave)] +=
        mode.coefficient * mode.coefficient;

  const auto pixels = static_cast<double>(height * width);
  Field field{height, width, std::vector<double>(static_cast<size_t>(pixels))};
  for (const Mode& mode : modes) {
    const auto octave = static_cast<size_t>(mode.octave);
    const double scale = std::sqrt(shares[octave] * pixels / powers[octave]);
    add_mode(field, scale * mode.coefficient, mode.ky, mode.kx);
  }
  return field;
}

}  // namespace sotta
