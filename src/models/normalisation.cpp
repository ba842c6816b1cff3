#include "sotta/models/normalisation.h"

#include <cmath>
#include <sstream>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta {

void check_normalisation(const Normalisation& normalisation,
                         const std::string& subject) {
  const auto& [mean, std] = normalisation;
  require(!mean.empty() && mean.size() == std.size(), subject,
          "expected as many means as standard deviations, got " +
              std::to_string(mean.size()) + " and " +
              std::to_string(std.size()));
  // As the floats that networks compute with.
  for (const double number : mean)
    require(std::isfinite(static_cast<float>(number)), subject,
            "expected finite means, got " + to_text(number));
  for (const double number : std)
    require(std::isnormal(static_cast<float>(number)) && number > 0, subject,
            "expected standard deviations above 0, got " + to_text(number));
}

void check_channels(const Normalisation& normalisation, int64_t channels) {
  const auto count = static_cast<size_t>(channels);
  require(
      normalisation.mean.size() == count && normalisation.std.size() == count,
      "normalisation",
      "expected a mean and a standard deviation for each of the network's " +
          std::to_string(channels) + " channels, got " +
          std::to_string(normalisation.mean.size()) + " and " +
          std::to_string(normalisation.std.size()));
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
