#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace sotta::testing {

// What is not well-formed about a piece of XML, or "" if nothing is: tags that
// do not match, attributes without quotes, a bare & or <. Knows no more of XML
// than figures use.
class XmlCheck {
 public:
  static std::string problem(const std::string& text) {
    XmlCheck check{text};
    while (check.at_ < text.size() && check.problem_.empty())
      check.step();
    if (check.problem_.empty() && !check.open_.empty())
      check.problem_ = "<" + check.open_.back() + "> is not closed";
    return check.problem_;
  }

 private:
  explicit XmlCheck(const std::string& text) : text_(text) {}

  void step() {
    const size_t tag = text_.find('<', at_);
    check_entities(text_.substr(at_, tag - at_));
    if (tag == std::string::npos) {
      at_ = text_.size();
      return;
    }
    const size_t end = text_.find('>', tag);
    if (end == std::string::npos) {
      problem_ = "a tag does not end";
      return;
    }
    check_tag(text_.substr(tag + 1, end - tag - 1));
    at_ = end + 1;
  }

  void check_tag(std::string tag) {
    if (tag.empty() || tag.front() == '?') return;
    if (tag.front() == '/') return close(tag.substr(1));
    const bool alone = tag.back() == '/';
    if (alone) tag.pop_back();
    const size_t name_end = std::min(tag.find(' '), tag.size());
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0 ||
        tag.find('<') != std::string::npos)
      problem_ = "an attribute is not closed in <" + tag + ">";
    check_entities(tag);
    if (!alone) open_.push_back(tag.substr(0, name_end));
  }

  void close(const std::string& name) {
    if (open_.empty() || open_.back() != name)
      problem_ = "</" + name + "> closes nothing";
    else
      open_.pop_back();
  }

  void check_entities(const std::string& part) {
    for (size_t i = part.find('&'); i != std::string::npos;
         i = part.find('&', i + 1)) {
      const size_t end = part.find(';', i);
      if (end == std::string::npos || end - i > 6) problem_ = "a bare &";
    }
  }

  const std::string& text_;
  size_t at_ = 0;
  std::vector<std::string> open_;
  std::string problem_;
};

inline int64_t occurrences(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t i = text.find(part); i != std::string::npos;
       i = text.find(part, i + part.size()))
    ++count;
  return count;
}

}  // namespace sotta::testing
