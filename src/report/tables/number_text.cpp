#include "report/tables/number_text.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace sotta {
namespace {

template <class... Arguments>
std::string print(const char* format, Arguments... arguments) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, arguments...);
  return text.data();
}

std::string magnitude(double value, int digits) {
  return print("%.*f", digits, std::abs(value));
}

bool shows_as_zero(const std::string& text) {
  return text.find_first_not_of("0.") == std::string::npos;
}

}  // namespace

std::string fixed(double value, int digits) {
  const std::string text = magnitude(value, digits);
  return value < 0 && !shows_as_zero(text) ? "−" + text : text;
}

std::string signed_fixed(double value, int digits) {
  const std::string text = fixed(value, digits);
  return value > 0 && !shows_as_zero(text) ? "+" + text : text;
}

std::string shortest(double value) {
  // 20000 reads better than 2e+04, and %g alone would lose digits beyond six.
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  const std::string text = whole ? print("%.0f", value) : print("%.6g", value);
  return text == "-0" ? "0" : text;
}

std::string counted(int64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

}  // namespace sotta
