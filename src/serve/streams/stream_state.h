#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sotta/adapt/snapshot.h"
#include "sotta/data/safetensors.h"

#include "serve/streams/stream_answer.h"

namespace sotta {

// How far an adapter has come, beside its state: lists show it, and restoring a
// state does not need it.
struct StreamProgress {
  int64_t images = 0, updates = 0, pending = 0;  // see StreamStatus
};

// All that a stream is, at the moment between two requests.
struct StreamState {
  // Whose it is: network, method and options. A state continues bit for bit
  // under an equal identity alone.
  std::string identity;

  Snapshot adapter;
  int64_t next_seq = 0;  // requests so far
  bool frozen = false;   // by a person, not for want of a disk

  // What guards found and did since the last answer.
  std::string guard;
  int64_t guard_trips = 0;
  int64_t skipped = 0;  // see StreamStatus

  AnswerLog answers;

  // StateSummary's, where it was read without answers.
  std::optional<int64_t> answers_end;
  std::optional<StreamProgress> progress;  // earlier versions saved none
};

// To a safetensors file and back, see docs/serve.md. A checksum over names,
// numbers and metadata tells damage: reading throws Error(kBadFormat) naming
// `subject` for anything but what to_tensor_file() has made.
// Without answers only where they end is in it, as they are elsewhere then.
TensorFile to_tensor_file(const StreamState& state, bool with_answers = true);
StreamState to_stream_state(const TensorFile& file, const std::string& subject);

// What the metadata of such a file tells without a look at its tensors. The
// checksum is not compared.
struct StateSummary {
  int64_t next_seq = 0;
  bool frozen = false;
  int64_t guard_trips = 0, skipped = 0;
  std::optional<StreamProgress> progress;

  // A checksum of the adapter's state alone: equal where nothing was learnt in
  // between. Empty in files of earlier versions.
  std::string adapter;

  // Where the answers end (AnswerLog::end()) that are not in the file; none: it
  // holds them.
  std::optional<int64_t> answers_end;
};
// Throws as to_stream_state() does.
StateSummary summary_of(const TensorFile& file, const std::string& subject);

}  // namespace sotta
