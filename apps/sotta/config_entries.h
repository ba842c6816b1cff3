#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sotta::cli {

// One key of a configuration file. A list has several values; each is the text
// that would be typed after the flag.
struct ConfigEntry {
  std::string key;
  std::vector<std::string> values;
  int64_t line = 0;  // from 1
};

// The most bytes a configuration file may have.
constexpr size_t kMaxConfigBytes = size_t{1} << 20;

// Reads TOML that holds keys without sections, whose values are whole numbers,
// numbers, text, true or false, or lists of these. Entries come in the order of
// the text.
//
// Throws Error(kBadFormat) for what is not TOML, and for tables, dates, lists
// of lists and empty lists; the message names `subject` and the line.
std::vector<ConfigEntry> parse_config(std::string_view text,
                                      const std::string& subject);

// The same of a file. Throws Error: kNotFound if there is none, kBadFormat if
// it is larger than kMaxConfigBytes or not as above, kIo if reading fails.
std::vector<ConfigEntry> read_config(const std::filesystem::path& file);

// "file.toml line 3", the subject of messages about an entry.
std::string line_subject(const std::string& subject, int64_t line);

}  // namespace sotta::cli
