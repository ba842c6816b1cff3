#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sotta {

// What a network subtracts from and divides its [0, 1] pixels by, per channel.
// Part of the model: it travels with the weights.
struct Normalisation {
  std::vector<double> mean;
  std::vector<double> std;
};

// Throws Error(kInvalid) naming `subject` unless there are as many means as
// standard deviations, at least one, the means finite and the deviations above
// 0, as floats too.
void check_normalisation(const Normalisation& normalisation,
                         const std::string& subject = "normalisation");

// Throws Error(kInvalid) unless there is a mean and a standard deviation for
// each of a network's channels.
void check_channels(const Normalisation& normalisation, int64_t channels);

// Reads and writes "0.4914,0.4822,0.4465". Parsing throws Error(kBadFormat)
// naming `subject`.
std::vector<double> parse_number_list(const std::string& text,
                                      const std::string& subject);
std::string format_number_list(const std::vector<double>& numbers);

}  // namespace sotta
