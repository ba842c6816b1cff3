#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/stream/stream_options.h"
#include "sotta/stream/stream_sources.h"

namespace sotta {

// Where a sample of a stream comes from.
enum class Origin : uint8_t {
  kTarget,    // the images that the model is for
  kForeign,   // images that do not belong there
  kAttacker,  // copies of target images that an attacker may change
};

constexpr int64_t kNoLabel = -1;

// All there is to know about one sample of a stream.
struct SampleTruth {
  Origin origin;
  int32_t domain;  // of the target images; -1 for foreign ones
  int64_t index;   // in its own set
  int64_t label;   // kNoLabel unless benign

  // Only these count for accuracy.
  bool benign() const { return origin == Origin::kTarget; }
};

// The same for some samples that follow one another, as tensors [N].
struct WindowTruth {
  at::Tensor labels;    // int64; kNoLabel unless benign
  at::Tensor benign;    // bool
  at::Tensor attacker;  // bool: an attack may change these images
};

// The order of a stream and the truth about each of its samples; no images.
// Made once and kept by whoever evaluates, it may serve any number of streams
// and is never shown to an adapter.
//
// The same options and sources give the same plan. The order of the target
// images depends on the seed, the dataset, the domain and how they are
// arranged, not on the scenario or on the corruptions around them; so the runs
// of two scenarios differ by the foreign samples in between, and a continual
// stream is the streams of its domains one after another.
class StreamPlan {
 public:
  // Throws Error(kInvalid) for bad options, domains of different sizes or
  // shapes, a missing or empty foreign set, or a stream without samples.
  StreamPlan(const StreamOptions& options, const StreamSources& sources);

  const StreamOptions& options() const { return options_; }
  const std::vector<std::string>& domains() const { return domains_; }

  int64_t size() const { return static_cast<int64_t>(samples_.size()); }
  int64_t windows() const;  // a partial one counts
  int64_t benign() const;   // samples that count for accuracy

  // By position in the stream.
  const SampleTruth& operator[](int64_t position) const {
    return samples_[static_cast<size_t>(position)];
  }
  const std::vector<SampleTruth>& samples() const { return samples_; }

  // The samples begin .. end-1. Throws Error(kInvalid) outside 0 .. size().
  WindowTruth truth(int64_t begin, int64_t end) const;

 private:
  StreamOptions options_;
  std::vector<std::string> domains_;
  std::vector<SampleTruth> samples_;
};

}  // namespace sotta
