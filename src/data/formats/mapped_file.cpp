#include "data/formats/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      // Without O_NONBLOCK, opening a named pipe would wait for a writer.
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void fail_to_read(const std::filesystem::path& path, int code) {
  if (code == ENOENT || code == ENOTDIR)
    fail(ErrorKind::kNotFound, path.string(),
         "expected a file, but there is none of this name");
  if (code == ELOOP)
    fail(ErrorKind::kInvalid, path.string(),
         "expected a file, got symbolic links that lead in a circle");
  fail(ErrorKind::kIo, path.string(),
       "cannot be read: " + std::generic_category().message(code));
}

size_t size_of_regular_file(int descriptor, const std::filesystem::path& path) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) fail_to_read(path, errno);
  if (S_ISDIR(status.st_mode))
    fail(ErrorKind::kInvalid, path.string(), "expected a file, got a folder");
  if (!S_ISREG(status.st_mode))
    fail(ErrorKind::kInvalid, path.string(),
         "expected a regular file, got a device, pipe or socket");
  return static_cast<size_t>(status.st_size);
}

}  // namespace

SharedBytes map_file(const std::filesystem::path& path) {
  const OpenFile file(path);
  if (file.descriptor() < 0) fail_to_read(path, errno);
  const size_t size = size_of_regular_file(file.descriptor(), path);
  if (size == 0) {  // mmap refuses empty files
    static const std::byte nothing{};
    return borrow_bytes(&nothing, 0);
  }
  void* memory =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (memory == MAP_FAILED) fail_to_read(path, errno);
  const auto unmap = [size](const std::byte* begin) {
    ::munmap(const_cast<std::byte*>(begin), size);
  };
  return {std::shared_ptr<const std::byte>(
              static_cast<const std::byte*>(memory), unmap),
          size};
}

SharedBytes borrow_bytes(const std::byte* data, size_t size) {
  return {std::shared_ptr<const std::byte>(std::shared_ptr<void>(), data),
          size};
}

Array array_at(const SharedBytes& bytes, size_t offset, ElementType type,
               std::vector<int64_t> shape) {
  const std::byte* begin = bytes.data.get() + offset;
  const auto alignment = static_cast<uintptr_t>(element_size(type));
  if (reinterpret_cast<uintptr_t>(begin) % alignment != 0)
    return copy_array_at(bytes, offset, type, std::move(shape));
  return {type, std::move(shape),
          std::shared_ptr<const std::byte>(bytes.data, begin)};
}

Array copy_array_at(const SharedBytes& bytes, size_t offset, ElementType type,
                    std::vector<int64_t> shape) {
  auto [array, memory] = allocate_array(type, std::move(shape));
  const auto size = static_cast<size_t>(array.bytes());
  if (size > 0) std::memcpy(memory, bytes.data.get() + offset, size);
  return array;
}

}  // namespace sotta
