#pragma once

#include <string>
#include <vector>

namespace sotta {

// A range of numbers on a length of the picture.
class Axis {
 public:
  // Round numbers around [low, high]; one value alone gets a range around it.
  static Axis linear(double low, double high);

  // The range as it is.
  static Axis exact(double low, double high);

  // Powers of ten; both ends above zero.
  static Axis logarithmic(double low, double high);

  // Where the value lies between `from` and `to`.
  double place(double value, double from, double to) const;

  // Round numbers within the range, about `count` of them.
  std::vector<double> ticks(int count) const;

  // With the digits that the ticks need to differ: "0.05", "20,000".
  static std::vector<std::string> labels(const std::vector<double>& ticks);

  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double low_ = 0;
  double high_ = 1;
  bool logarithmic_ = false;
};

}  // namespace sotta
