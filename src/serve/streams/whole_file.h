#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sotta/core/error.h"

namespace sotta {

// Nothing of a file that is not there. One that is and cannot be read is not an
// empty one: throws Error(kIo).
inline std::string read_whole_file(const std::filesystem::path& file) try {
  std::ifstream in(file, std::ios::binary);
  if (!in.is_open() && std::filesystem::exists(file))
    fail(ErrorKind::kIo, file.string(), "cannot be opened");
  return {std::istreambuf_iterator<char>(in), {}};
} catch (const std::ios_base::failure&) {
  fail(ErrorKind::kIo, file.string(), "cannot be read");
}

}  // namespace sotta
