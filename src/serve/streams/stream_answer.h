#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sotta/adapt/verdict.h"

namespace sotta {

// What one request was answered with, as plain numbers.
struct StreamAnswer {
  int64_t seq = 0;  // which of its stream's requests it was
  int64_t classes = 0;
  std::vector<float> logits;  // [N, classes]
  std::vector<int64_t> labels;
  std::vector<float> confidences;
  std::vector<Verdict> verdicts;  // as they stood when it was answered

  // Updates that the network which answered had seen.
  int64_t updates = 0;

  // What guards found and did in the updates since the answer before.
  std::string guard;

  size_t images() const { return labels.size(); }
};

bool operator==(const StreamAnswer& one, const StreamAnswer& other);

// An answer, and where its stream stands now.
struct InferResult {
  StreamAnswer answer;
  int64_t next_seq = 0;     // the request that is expected next
  int64_t durable_seq = 0;  // requests before it survive a crash

  // Why nothing is being learnt; empty if the stream is not frozen.
  std::string frozen;

  // Images of the stream that were answered and not learnt from, as updates
  // did not keep up (see StreamTable).
  int64_t skipped = 0;
};

// The latest answers of a stream, for requests that come again.
class AnswerLog {
 public:
  // Kept are `most` answers, fewer where they take more than `bytes`.
  explicit AnswerLog(size_t most = 1024, size_t bytes = size_t{4} << 20)
      : most_(most), bytes_(bytes) {}

  void add(StreamAnswer answer);

  // Those of another log to requests before `end`, which are later ones.
  void add_all(const AnswerLog& others, int64_t end);

  // None if it has been forgotten, or was never there.
  const StreamAnswer* find(int64_t seq) const;

  size_t size() const { return answers_.size(); }

  // One more than the last answer's seq; 0 if there is none.
  int64_t end() const {
    return answers_.empty() ? 0 : answers_.back()->seq + 1;
  }

  // To bytes and back, those from a seq on; parse() replaces what is kept.
  // Throws Error(kBadFormat) for bytes that pack() does not write.
  std::string pack(int64_t from = 0) const;
  void parse(const std::string& packed);
  size_t packed_bytes() const { return sizeof(uint64_t) + held_; }

  // The same for a log and its copies before and after answers are added to
  // one of them; another for each that was made or parsed.
  uint64_t history() const { return history_; }

 private:
  static uint64_t new_history();

  size_t most_, bytes_;
  size_t held_ = 0;  // bytes of all answers, packed
  uint64_t history_ = new_history();
  // Shared by the copies that are saved, as they never change.
  std::deque<std::shared_ptr<const StreamAnswer>> answers_;
};

}  // namespace sotta
