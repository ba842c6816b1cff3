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

// Requests since a snapshot, appended one by one as JournalRecords. What
// follows the first that is not whole was never answered, and is not read.
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

// The whole requests of a journal, in their order; none if there is no file.
std::vector<StreamRequest> read_journal(const std::filesystem::path& file);

}  // namespace sotta
