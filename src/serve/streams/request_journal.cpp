#include "serve/streams/request_journal.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <ATen/ops/empty.h>
#include <fcntl.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "core/atomic_file.h"
#include "core/output_place.h"
#include "data/formats/sha1.h"
#include "serve/streams/byte_stream.h"

namespace sotta {
namespace {

constexpr size_t kChecksumSize = 40;  // hexadecimal digits
constexpr size_t kFrontSize = sizeof(uint64_t) + kChecksumSize;

std::string checksum_of(std::string_view bytes) {
  Sha1 sum;
  sum.update(bytes.data(), bytes.size());
  return sum.finish();
}

std::string pack(const StreamRequest& entry) {
  ByteWriter writer;
  writer.number(entry.seq.value());
  writer.number<uint8_t>(entry.adapt);
  writer.number<uint8_t>(entry.reset);
  writer.number<uint8_t>(entry.images.scalar_type() == at::kFloat);
  writer.numbers(entry.images.sizes().vec());
  const at::Tensor plain = entry.images.contiguous();
  writer.text({static_cast<const char*>(plain.data_ptr()), plain.nbytes()});
  return writer.bytes();
}

// None if the parts do not fit each other.
std::optional<StreamRequest> unpack(std::string_view bytes) try {
  ByteReader reader(bytes, "journal");
  StreamRequest entry;
  entry.seq = reader.number<int64_t>();
  entry.adapt = reader.number<uint8_t>() != 0;
  entry.reset = reader.number<uint8_t>() != 0;
  const auto type = reader.number<uint8_t>() != 0 ? at::kFloat : at::kByte;
  const auto shape = reader.numbers<int64_t>();
  const std::string pixels = reader.text();
  const auto size = static_cast<int64_t>(pixels.size());
  int64_t wanted = type == at::kFloat ? 4 : 1;
  for (const int64_t extent : shape) {
    if (extent < 1 || extent > size / wanted) return std::nullopt;
    wanted *= extent;
  }
  if (shape.size() != 4 || wanted != size || !reader.at_end())
    return std::nullopt;
  entry.images = at::empty(shape, type);
  std::memcpy(entry.images.data_ptr(), pixels.data(), pixels.size());
  return entry;
} catch (const Error&) {
  return std::nullopt;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

RequestJournal::RequestJournal(std::filesystem::path file)
    : file_(std::move(file)),
      descriptor_(::open(file_.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC,
                         0666)) {
  if (descriptor_ < 0) fail_to_write(file_, errno);
  try {
    sync_file(file_);  // its name too
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

RequestJournal::~RequestJournal() {
  ::close(descriptor_);
}

void RequestJournal::append(const StreamRequest& entry) {
  const std::string bytes = pack(entry);
  const uint64_t size = bytes.size();
  std::string whole(reinterpret_cast<const char*>(&size), sizeof size);
  whole += checksum_of(bytes) + bytes;
  if (!write_all(descriptor_, whole) || ::fdatasync(descriptor_) != 0)
    fail_to_write(file_, errno);
}

std::vector<StreamRequest> read_journal(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  std::string_view rest = content;
  std::vector<StreamRequest> entries;
  while (rest.size() >= kFrontSize) {
    uint64_t size = 0;
    std::memcpy(&size, rest.data(), sizeof size);
    const std::string_view sum = rest.substr(sizeof size, kChecksumSize);
    rest.remove_prefix(kFrontSize);
    if (size > rest.size()) break;
    const std::string_view bytes = rest.substr(0, size);
    rest.remove_prefix(size);
    if (checksum_of(bytes) != sum) break;
    const auto entry = unpack(bytes);
    if (!entry) break;
    entries.push_back(*entry);
  }
  return entries;
}

}  // namespace sotta
