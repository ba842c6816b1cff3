#include "serve/streams/request_journal.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <ATen/ops/empty.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/atomic_file.h"
#include "core/output_place.h"
#include "serve/streams/journal_record.h"
#include "serve/streams/whole_file.h"

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
  const std::string record = pack_record(to_record(request));
  if (!write_all(descriptor_, record.data(), record.size()) ||
      ::fdatasync(descriptor_) != 0)
    fail_to_write(file_, errno);
}

JournalContent read_journal(const std::filesystem::path& file) {
  const JournalRecords records = parse_records(read_whole_file(file));
  JournalContent content;
  for (const JournalRecord& record : records.whole)
    content.requests.push_back(to_request(record));
  content.damaged = records.damaged;
  return content;
}

}  // namespace sotta
