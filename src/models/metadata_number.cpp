#include "models/metadata_number.h"

#include <algorithm>

#include "sotta/core/error.h"

namespace sotta {

std::optional<int64_t> metadata_number(const TensorFile& file,
                                       const std::string& key, int64_t most,
                                       const std::string& subject) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) return std::nullopt;
  const std::string& text = found->second;
  const bool digits = !text.empty() && text.size() <= 9 &&
                      std::all_of(text.begin(), text.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  const int64_t number = digits ? std::stoll(text) : 0;
  if (number < 1 || number > most)
    fail(ErrorKind::kBadFormat, subject,
         "metadata " + key + ": expected a whole number from 1 to " +
             std::to_string(most) + ", got \"" + text + "\"");
  return number;
}

int64_t metadata_heads(const TensorFile& file, const std::string& subject) {
  return metadata_number(file, "heads", 1 << 12, subject).value_or(0);
}

}  // namespace sotta
