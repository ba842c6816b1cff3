#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sotta/adapt/verdict.h"
#include "sotta/core/rng.h"

namespace sotta {

// A sample as a memory knows it; its image lies in ImageMemory.
struct MemoryItem {
  int64_t slot = 0;        // of its image, 0 .. capacity-1
  int64_t sample = 0;      // its place in the stream
  int64_t label = 0;       // as predicted when it came
  double confidence = 0;   // likewise
  double uncertainty = 0;  // its entropy, likewise
  int64_t age = 0;         // offers since it came (CSTU)
};

// Which samples to keep for the next update. Decides by what is predicted,
// never by pixels.
class SampleMemory {
 public:
  virtual ~SampleMemory() = default;

  // Offers a sample. If it is admitted, the answer's slot says where its image
  // goes, possibly in place of another's.
  struct Answer {
    Verdict verdict;
    int64_t slot;  // -1 unless admitted
  };
  virtual Answer offer(const MemoryItem& item, Rng& rng) = 0;

  // What is kept, in the order of the batch that an update uses.
  virtual std::vector<MemoryItem> items() const = 0;

  // Replaces the content, in the order items() gave it.
  virtual void set_items(const std::vector<MemoryItem>& items) = 0;
};

// The last `capacity` samples whose confidence reaches `min_confidence`; 0
// keeps all.
std::unique_ptr<SampleMemory> make_fifo_memory(int64_t capacity,
                                               double min_confidence);

// High-confidence uniform-class sampling (SoTTA): when it is full, the crowded
// classes make room, a random one of their samples leaving.
std::unique_ptr<SampleMemory> make_hus_memory(int64_t capacity, int64_t classes,
                                              double min_confidence);

// Category-balanced sampling with timeliness and uncertainty (RoTTA). With
// `quota_first` a class never holds more than its quota, capacity / classes;
// without, only a full memory looks at quotas.
std::unique_ptr<SampleMemory> make_cstu_memory(int64_t capacity,
                                               int64_t classes,
                                               bool quota_first);

}  // namespace sotta
