#include "serve/streams/request_journal.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <ATen/ops/empty.h>
#include <fcntl.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "core/atomic_file.h"
#include "core/output_place.h"
#include "serve/streams/journal_record.h"

namespace sotta {
namespace {

JournalRecord to_record(const StreamRequest& request) {
  const at::Tensor plain = request.images.contiguous();
  return {request.seq.value(),
          request.adapt,
          request.reset,
          plain.scalar_type() == at::kFloat,
          plain.sizes().vec(),
          {static_cast<const char*>(plain.data_ptr()), plain.nbytes()}};
}

StreamRequest to_request(const JournalRecord& record) {
  const at::Tensor images =
      at::empty(record.shape, record.is_float ? at::kFloat : at::kByte);
  std::memcpy(images.data_ptr(), record.pixels.data(), record.pixels.size());
  return {record.seq, record.adapt, record.reset, images};
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

void RequestJournal::append(const StreamRequest& request) {
  if (!write_all(descriptor_, pack_record(to_record(request))) ||
      ::fdatasync(descriptor_) != 0)
    fail_to_write(file_, errno);
}

namespace {

// Nothing of a file that is not there. One that is and cannot be read is not an
// empty one.
std::string read_whole(const std::filesystem::path& file) try {
  std::ifstream in(file, std::ios::binary);
  if (!in.is_open() && std::filesystem::exists(file))
    fail(ErrorKind::kIo, file.string(), "cannot be opened");
  return {std::istreambuf_iterator<char>(in), {}};
} catch (const std::ios_base::failure&) {
  fail(ErrorKind::kIo, file.string(), "cannot be read");
}

}  // namespace

std::vector<StreamRequest> read_journal(const std::filesystem::path& file) {
  const std::string content = read_whole(file);
  std::vector<StreamRequest> requests;
  for (const JournalRecord& record : parse_records(content))
    requests.push_back(to_request(record));
  return requests;
}

}  // namespace sotta
