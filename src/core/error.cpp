#include "sotta/core/error.h"

namespace sotta {

void fail(ErrorKind kind, const std::string& subject,
          const std::string& problem) {
  throw Error(kind, subject + ": " + problem);
}

void require(bool condition, const std::string& subject,
             const std::string& problem) {
  if (!condition) fail(ErrorKind::kInvalid, subject, problem);
}

std::string first_line(const std::exception& error) {
  constexpr size_t kLongest = 400;
  const std::string text = error.what();
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "no reason was given";
  std::string line =
      text.substr(begin, text.find_first_of("\r\n", begin) - begin);
  for (char& c : line)
    if ((c >= 0 && c < ' ') || c == '\x7f') c = '?';
  if (line.size() > kLongest) line = line.substr(0, kLongest) + "...";
  return line;
}

}  // namespace sotta
