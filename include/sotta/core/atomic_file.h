#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace sotta {

// A file that appears under its name only when it is whole: bytes go to a
// temporary file beside it, which commit() renames. Without commit() nothing
// remains. All members throw Error(kIo) when the system refuses.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t size);
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_;
};

// The same for text that is at hand: the file is there whole, or as it was.
void replace_file(const std::filesystem::path& path, const std::string& text);

}  // namespace sotta
