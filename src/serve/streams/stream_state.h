#pragma once

#include <cstdint>
#include <string>

#include "sotta/adapt/snapshot.h"
#include "sotta/data/safetensors.h"

#include "serve/streams/stream_answer.h"

namespace sotta {

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
};

// To a safetensors file and back, see docs/serve.md. A checksum over names,
// numbers and metadata tells damage: reading throws Error(kBadFormat) naming
// `subject` for anything but what to_tensor_file() has made.
TensorFile to_tensor_file(const StreamState& state);
StreamState to_stream_state(const TensorFile& file, const std::string& subject);

}  // namespace sotta
