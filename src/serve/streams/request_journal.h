#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// A request as its stream sees it. One in a journal has a number.
struct StreamRequest {
  std::optional<int64_t> seq;  // which of the stream's requests it is
  bool adapt = true;
  bool reset = false;
  at::Tensor images;  // uint8 or float [N, C, H, W] on the CPU
};

// Requests since a snapshot, appended one by one as JournalRecords.
class RequestJournal {
 public:
  // Makes the file, empty, or throws Error(kIo).
  explicit RequestJournal(std::filesystem::path file);
  ~RequestJournal();
  RequestJournal(const RequestJournal&) = delete;
  RequestJournal& operator=(const RequestJournal&) = delete;

  // Returns when the request has reached the disk. Throws Error(kIo) when the
  // system refuses; then there may be a part of it, which would hide what
  // follows, so nothing more may be appended.
  void append(const StreamRequest& request);

 private:
  std::filesystem::path file_;
  int descriptor_;
};

struct JournalContent {
  std::vector<StreamRequest> requests;  // the whole ones, in their order

  // Whether requests after them may be lost. One that a crash cut short was
  // never answered, and is none of those.
  bool damaged = false;
};
// Nothing if there is no file.
JournalContent read_journal(const std::filesystem::path& file);

}  // namespace sotta
