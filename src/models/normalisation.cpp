#include "sotta/models/normalisation.h"

#include <cmath>
#include <sstream>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta {

void check_normalisation(const Normalisation& normalisation) {
  const auto& [mean, std] = normalisation;
  require(!mean.empty() && mean.size() == std.size(), "normalisation",
          "expected as many means as standard deviations, got " +
              std::to_string(mean.size()) + " and " +
              std::to_string(std.size()));
  for (const double number : mean)
    require(std::isfinite(number), "normalisation", "expected finite means");
  for (const double number : std)
    require(std::isfinite(number) && number > 0, "normalisation",
            "expected standard deviations above 0");
}

std::vector<double> parse_number_list(const std::string& text,
                                      const std::string& subject) {
  std::vector<double> numbers;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    size_t used = 0;
    double number = std::nan("");
    try {
      number = std::stod(part, &used);
    } catch (const std::exception&) {
      used = 0;  // reported below, together with trailing characters
    }
    if (used == 0 || used != part.size() || !std::isfinite(number))
      fail(ErrorKind::kBadFormat, subject,
           "expected numbers separated by commas, got \"" + text + "\"");
    numbers.push_back(number);
  }
  if (numbers.empty())
    fail(ErrorKind::kBadFormat, subject,
         "expected numbers separated by commas, got nothing");
  return numbers;
}

std::string format_number_list(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers)
    text += (text.empty() ? "" : ",") + to_text(number);
  return text;
}

}  // namespace sotta
