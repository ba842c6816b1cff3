#pragma once

#include <algorithm>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta {

// Things that are found by their name: structs with the fields `name` and
// `label`, where no label means that the name is shown. The library's own come
// first; a program adds others before it uses any. All methods may run at once.
template <class Entry>
class Registry {
 public:
  // `subject` is named in messages: "method".
  Registry(std::string subject, std::vector<Entry> entries)
      : subject_(std::move(subject)) {
    for (auto& entry : entries)
      add(std::move(entry));
  }

  // Throws Error(kInvalid) for a name that is taken or not made of small
  // letters, digits, '_' and '-'; "all" and "none" stand for other things.
  void add(Entry entry) {
    const auto known = names();
    require(is_name(entry.name), subject_,
            "expected a name of small letters, digits, _ and -, got \"" +
                entry.name + "\"");
    require(std::count(known.begin(), known.end(), entry.name) == 0, subject_,
            "\"" + entry.name + "\" is there already");
    if (entry.label.empty()) entry.label = entry.name;
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
  }

  // Stays where it is. Throws Error(kInvalid) for an unknown name, with the
  // nearest known one.
  const Entry& find(const std::string& name) const {
    {
      const std::lock_guard lock(mutex_);
      for (const Entry& entry : entries_)
        if (entry.name == name) return entry;
    }
    fail_unknown_name(subject_, name, names());
  }

  std::vector<std::string> names() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const Entry& entry : entries_)
      names.push_back(entry.name);
    return names;
  }

 private:
  static bool is_name(const std::string& name) {
    return !name.empty() && name != "all" && name != "none" &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") ==
               std::string::npos;
  }

  std::string subject_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;  // does not move what it holds
};

}  // namespace sotta
