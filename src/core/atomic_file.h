#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace sotta {

// A file that appears under its name only when it is whole: bytes go to a
// temporary file beside it, which commit() renames. Without commit() nothing
// remains; what a killed process left beside the name, the next writer of that
// name removes. Of a link the file that it leads to is replaced. All members
// throw Error(kIo) when the system refuses, and the constructor for the name of
// a device, a pipe or a socket.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t size);

  // Replaces the file of this name at once: after a crash of the process it is
  // the old one or the new one, whole.
  void commit();

  // The same after a power cut too: returns when the new file and its name have
  // reached the disk.
  void commit_durably();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_;
};

// Whether a file of this name is what an AtomicFile writes to, or has left.
bool is_partial_file(const std::string& name);

// The same for text that is at hand: the file is there whole, or as it was.
void replace_file(const std::filesystem::path& path, const std::string& text);

// Writes all of it, or gives false with the reason in errno.
bool write_all(int descriptor, const void* data, size_t size);

// Makes the folder and those above it, if they are not there, and returns when
// their names have reached the disk. Throws Error(kIo) when the system refuses;
// the folder is not there then, so that it can be tried again.
void make_folder_durably(const std::filesystem::path& folder);

// Gives a file or a folder another name in the same folder, and returns when
// that has reached the disk. Throws Error(kIo) when the system refuses; it has
// its old name then.
void rename_durably(const std::filesystem::path& from,
                    const std::filesystem::path& to);

// For files that grow line by line: returns when what was written to the file,
// and its name, have reached the disk. Does nothing for what is no regular
// file, such as a pipe. Throws Error(kIo) when the system refuses.
void sync_file(const std::filesystem::path& path);

}  // namespace sotta
