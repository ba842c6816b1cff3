#pragma once

#include <string>

namespace sotta {

// A sentence "/folder/file: what is wrong" as "file: what is wrong", and
// "redis://host:1/0: ..." as "the store of streams: ...": clients need not know
// where a server keeps its state. Any other stays as it is.
inline std::string without_folder(const std::string& sentence) {
  const size_t subject_end = sentence.find(": ");
  if (subject_end == std::string::npos) return sentence;
  const size_t scheme = sentence.find("://");
  if (scheme < subject_end)
    return "the store of streams" + sentence.substr(subject_end);
  const size_t slash = sentence.rfind('/', subject_end);
  return slash == std::string::npos ? sentence : sentence.substr(slash + 1);
}

}  // namespace sotta
