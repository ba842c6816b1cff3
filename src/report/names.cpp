#include "report/names.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sotta {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

const Labels kMethods = {{"source", "Source"},
                         {"bn_stats", "BN Stats"},
                         {"pseudo_label", "PL"},
                         {"tent", "TENT"},
                         {"lame", "LAME"},
                         {"cotta", "CoTTA"},
                         {"eata", "EATA"},
                         {"sar", "SAR"},
                         {"rotta", "RoTTA"},
                         {"sotta", "SoTTA"},
                         {"screened_sotta", "Screened SoTTA"}};

const Labels kScenarios = {
    {"", "No stream"},  {"benign", "Benign"},     {"near", "Near"},
    {"far", "Far"},     {"attack", "Attack"},     {"noise", "Noise"},
    {"blank", "Blank"}, {"inverted", "Inverted"}, {"shuffled", "Shuffled"}};

// Short enough for a table of sixteen columns.
const Labels kCorruptions = {{"", "None"},
                             {"gaussian_noise", "Gauss."},
                             {"shot_noise", "Shot"},
                             {"impulse_noise", "Impulse"},
                             {"defocus_blur", "Defocus"},
                             {"glass_blur", "Glass"},
                             {"motion_blur", "Motion"},
                             {"zoom_blur", "Zoom"},
                             {"snow", "Snow"},
                             {"frost", "Frost"},
                             {"fog", "Fog"},
                             {"brightness", "Bright."},
                             {"contrast", "Contrast"},
                             {"elastic_transform", "Elastic"},
                             {"pixelate", "Pixel."},
                             {"jpeg_compression", "JPEG"}};

const Labels kDatasets = {{"cifar10", ""},  {"cifar10c", ""},
                          {"cifar100", ""}, {"cifar100c", ""},
                          {"imagenet", ""}, {"imagenetc", ""}};

const Labels kOptions = {
    {"min_confidence", "confidence threshold C0"},
    {"stats_momentum", "momentum m of the norm statistics"},
    {"odin_threshold", "ODIN threshold δ"},
    {"sharpness_radius", "sharpness radius ρ"},
    {"memory_capacity", "memory capacity (samples)"},
    {"learning_rate", "learning rate"},
    {"foreign_count", "number of foreign samples"},
    {"severity", "severity of the corruption"}};

std::string label(const Labels& labels, const std::string& name) {
  for (const auto& [known, text] : labels)
    if (known == name) return text;
  return name;
}

std::vector<std::string> sorted(const Labels& labels,
                                std::set<std::string> names) {
  std::vector<std::string> result;
  for (const auto& entry : labels)
    if (names.erase(entry.first) > 0) result.push_back(entry.first);
  result.insert(result.end(), names.begin(), names.end());
  return result;
}

}  // namespace

std::string method_label(const std::string& method) {
  return label(kMethods, method);
}

std::string scenario_label(const std::string& scenario) {
  return label(kScenarios, scenario);
}

std::string corruption_label(const std::string& corruption) {
  return label(kCorruptions, corruption);
}

std::string corruption_words(const std::string& corruption) {
  return corruption.empty() ? "uncorrupted images" : corruption;
}

std::string option_label(const std::string& option) {
  return label(kOptions, option);
}

int method_style(const std::string& method) {
  // Dashed ones (7 and above) share a colour with a method unlike them.
  static const std::map<std::string, int> kStyles = {
      {"sotta", 0}, {"tent", 1},     {"rotta", 2},  {"eata", 3},
      {"cotta", 4}, {"bn_stats", 5}, {"source", 6}, {"pseudo_label", 8},
      {"sar", 10},  {"lame", 13}};
  const auto found = kStyles.find(method);
  return found == kStyles.end() ? 7 : found->second;
}

std::vector<std::string> sort_methods(std::set<std::string> names) {
  return sorted(kMethods, std::move(names));
}

std::vector<std::string> sort_scenarios(std::set<std::string> names) {
  return sorted(kScenarios, std::move(names));
}

std::vector<std::string> sort_corruptions(std::set<std::string> names) {
  return sorted(kCorruptions, std::move(names));
}

std::vector<std::string> sort_datasets(std::set<std::string> names) {
  return sorted(kDatasets, std::move(names));
}

const std::vector<std::string>& paper_corruptions() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& entry : kCorruptions)
      if (!entry.first.empty()) names.push_back(entry.first);
    return names;
  }();
  return kNames;
}

}  // namespace sotta
