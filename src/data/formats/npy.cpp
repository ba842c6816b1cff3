#include "data/formats/npy.h"

#include "sotta/core/error.h"

#include "core/atomic_file.h"
#include "data/formats/mapped_file.h"
#include "data/formats/npy_header.h"
#include "data/formats/printable.h"

namespace sotta {
namespace {

// Checks that the elements fill the rest of the file and returns their offset.
size_t check_payload(const NpyHeader& header, size_t size,
                     const std::string& subject) {
  const int64_t expected = checked_bytes(header.type, header.shape, subject);
  const size_t found = size - header.payload_offset;
  if (static_cast<uint64_t>(expected) != found)
    fail(ErrorKind::kBadFormat, subject,
         "expected " + std::to_string(expected) + " bytes of " +
             element_name(header.type) + shape_text(header.shape) +
             " after the header, got " + std::to_string(found));
  return header.payload_offset;
}

}  // namespace

Array parse_npy(const std::byte* data, size_t size,
                const std::string& subject) {
  const NpyHeader header = parse_npy_header(data, size, subject);
  const size_t offset = check_payload(header, size, subject);
  return copy_array_at(borrow_bytes(data, size), offset, header.type,
                       header.shape);
}

Array parse_npy(const std::shared_ptr<const std::byte>& data, size_t size,
                const std::string& subject) {
  const NpyHeader header = parse_npy_header(data.get(), size, subject);
  const size_t offset = check_payload(header, size, subject);
  return array_at({data, size}, offset, header.type, header.shape);
}

Array read_npy(const std::filesystem::path& path) {
  const SharedBytes file = map_file(path);
  return parse_npy(file.data, file.size, path.string());
}

void write_npy(const std::filesystem::path& path, const Array& array) {
  const std::string header =
      make_npy_header(array.type, array.shape, path.string());
  AtomicFile file(path);
  file.write(header.data(), header.size());
  file.write(array.data.get(), static_cast<size_t>(array.bytes()));
  file.commit_durably();
}

}  // namespace sotta
