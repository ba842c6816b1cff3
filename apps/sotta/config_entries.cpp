#include "config_entries.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>

// toml++ assumes in places that a file is as it expects ("a = 2020-01-02T.3"):
// its assertions are kept in all builds, and throw.
namespace {
[[noreturn]] void fail_assertion() {
  throw std::runtime_error("unexpected text");
}
}  // namespace
#undef NDEBUG
#define TOML_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : fail_assertion())
#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta::cli {
namespace {

[[noreturn]] void fail_in_line(const std::string& subject, int64_t line,
                               const std::string& problem) {
  fail(ErrorKind::kBadFormat, line_subject(subject, line), problem);
}

// toml++ 3.3 looks letters beyond ASCII up in a table with holes, which is
// undefined behaviour outside of strings, and where a string begins is for the
// parser to say. So it sees ASCII alone: a byte b of another letter is handed
// over as "~" and two hexadecimal digits, as is the tilde, and read back in
// keys, text and messages.
constexpr char kEscape = '~';
constexpr std::string_view kHexDigits = "0123456789ABCDEF";

std::string to_ascii(std::string_view text) {
  std::string ascii;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && c != kEscape)
      ascii += c;
    else
      ascii += {kEscape, kHexDigits[byte / 16], kHexDigits[byte % 16]};
  }
  return ascii;
}

std::string from_ascii(std::string_view ascii) {
  std::string text;
  for (size_t i = 0; i < ascii.size(); ++i) {
    const size_t high = i + 2 < ascii.size() && ascii[i] == kEscape
                            ? kHexDigits.find(ascii[i + 1])
                            : std::string_view::npos;
    const size_t low =
        high == std::string_view::npos ? high : kHexDigits.find(ascii[i + 2]);
    if (low == std::string_view::npos) {
      text += ascii[i];
    } else {
      text += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return text;
}

void check_utf8(std::string_view text, const std::string& subject) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
  } catch (const nlohmann::json::type_error&) {
    fail(ErrorKind::kBadFormat, subject, "expected TOML: text is not UTF-8");
  }
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.substr(0, kMark.size()) == kMark) text.remove_prefix(kMark.size());
  return text;
}

// Finds the end of strings and comments, so that what looks like a bracket or a
// dot inside of them is not counted. Broken strings end with their line: the
// parser refuses them there.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool done() const { return at_ >= text_.size(); }
  int64_t line() const { return line_; }

  // The next character outside of strings and comments. A string counts as one
  // quote.
  char next() {
    const char c = take();
    if (c == '#') skip_comment();
    if (c == '"' || c == '\'') skip_string(c);
    return c;
  }

 private:
  bool starts_with(const std::string& word) const {
    return text_.substr(at_, word.size()) == word;
  }

  char take() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }

  void skip_comment() {
    while (!done() && text_[at_] != '\n')
      take();
  }

  // Its opening quote has been taken.
  void skip_string(char quote) {
    const bool long_string = starts_with(std::string(2, quote));
    const std::string end(long_string ? 3 : 1, quote);
    at_ += long_string ? 2 : 0;
    while (!done() && !starts_with(end)) {
      if (!long_string && text_[at_] == '\n') return;
      if (take() == '\\' && quote == '"' && !done()) take();
    }
    at_ = std::min(text_.size(), at_ + end.size());
    // A long string may end in quotes of its own.
    while (long_string && !done() && text_[at_] == quote)
      ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

// Refuses what toml++ might not survive. The parser and the destructors of what
// it makes recurse: deep nesting would overflow the stack. Brackets nest
// values, dots nest tables.
void check_text(std::string_view text, const std::string& subject) {
  constexpr int kMostBrackets = 64, kMostDots = 64;
  Scanner scanner(text);
  int brackets = 0, dots = 0;
  while (!scanner.done()) {
    const char c = scanner.next();
    if (c == '[' || c == '{') ++brackets;
    if (c == ']' || c == '}') brackets = std::max(0, brackets - 1);
    if (c == '.') ++dots;
    if (c == '\n' || c == ',' || c == '=') dots = 0;
    if (brackets > kMostBrackets)
      fail_in_line(subject, scanner.line(),
                   "expected lists of values, got more than " +
                       std::to_string(kMostBrackets) + " open brackets");
    if (dots > kMostDots)
      fail_in_line(subject, scanner.line(),
                   "expected a key, got one of more than " +
                       std::to_string(kMostDots) + " parts");
  }
}

// Names and messages that quote the file must not control the terminal.
std::string printable(std::string text) {
  for (char& c : text)
    if ((c >= 0 && c < ' ') || c == '\x7f') c = '?';
  return text;
}

std::string kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list in a list";
    default:
      return "a date or time";
  }
}

// A single value as text, nothing if it is none of those that flags have.
std::optional<std::string> value_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return from_ascii(text->get());
  if (const auto* number = node.as_integer())
    return std::to_string(number->get());
  if (const auto* number = node.as_floating_point())
    return to_text(number->get());
  if (const auto* flag = node.as_boolean()) return to_text(flag->get());
  return std::nullopt;
}

int64_t line_of(const toml::source_region& region) {
  return static_cast<int64_t>(region.begin.line);
}

toml::table parse_toml(std::string_view text, const std::string& subject) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    fail_in_line(
        subject, line_of(error.source()),
        "expected TOML: " + printable(from_ascii(error.description())));
  } catch (const std::exception& error) {
    fail(ErrorKind::kBadFormat, subject,
         "expected TOML: " + printable(first_line(error)));
  }
}

class EntryReader {
 public:
  explicit EntryReader(std::string subject) : subject_(std::move(subject)) {}

  ConfigEntry read(const toml::key& key, const toml::node& node) const {
    ConfigEntry entry{
        printable(from_ascii(key.str())), {}, line_of(key.source())};
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      entry.values.push_back(value_of(node, entry));
      return entry;
    }
    for (const toml::node& item : *list)
      entry.values.push_back(value_of(item, entry));
    if (entry.values.empty())
      refuse(entry, "expected at least one value, got an empty list");
    return entry;
  }

 private:
  std::string value_of(const toml::node& node, const ConfigEntry& entry) const {
    auto text = value_text(node);
    if (!text)
      refuse(entry,
             "expected a number, text, true or false, or a list of these, "
             "got " +
                 kind_of(node));
    return *text;
  }

  [[noreturn]] void refuse(const ConfigEntry& entry,
                           const std::string& problem) const {
    fail_in_line(subject_, entry.line, entry.key + ": " + problem);
  }

  std::string subject_;
};

}  // namespace

std::string line_subject(const std::string& subject, int64_t line) {
  return subject + " line " + std::to_string(line);
}

std::vector<ConfigEntry> parse_config(std::string_view text,
                                      const std::string& subject) {
  check_utf8(text, subject);
  const std::string ascii = to_ascii(without_byte_order_mark(text));
  check_text(ascii, subject);
  const toml::table table = parse_toml(ascii, subject);
  const EntryReader reader(subject);
  std::vector<std::pair<toml::source_position, ConfigEntry>> found;
  for (const auto& [key, node] : table)
    found.emplace_back(key.source().begin, reader.read(key, node));
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ConfigEntry> entries;
  for (auto& [position, entry] : found)
    entries.push_back(std::move(entry));
  return entries;
}

std::vector<ConfigEntry> read_config(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    fail(ErrorKind::kNotFound, file.string(),
         "expected a configuration file, this is a folder");
  std::ifstream in(file, std::ios::binary);
  if (!in)
    fail(ErrorKind::kNotFound, file.string(),
         "expected a configuration file: " +
             std::generic_category().message(errno));
  std::string text(kMaxConfigBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) fail(ErrorKind::kIo, file.string(), "cannot be read");
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMaxConfigBytes)
    fail(ErrorKind::kBadFormat, file.string(),
         "expected a configuration file of at most " +
             std::to_string(kMaxConfigBytes) + " bytes, this is larger");
  return parse_config(text, file.string());
}

}  // namespace sotta::cli
