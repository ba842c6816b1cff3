#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/adapter.h"

#include "serve/streams/stream_answer.h"

namespace sotta {

// Adds what a network said of some images; verdicts are the caller's.
void append_answer(const at::Tensor& logits, const Prediction& prediction,
                   StreamAnswer& answer);

// An answer that nothing is learnt from, by a network after so many updates.
StreamAnswer not_screened(const at::Tensor& logits,
                          const Prediction& prediction, int64_t updates);

// What an adapter's network says now of images on the CPU, learning nothing.
// Does not look at their size.
StreamAnswer answer_with(const Adapter& adapter, const at::Tensor& images);

// A copy of the network that an adapter predicts with, for answers while the
// adapter is being updated. Says what answer_with() said when it was made, bit
// for bit; of a method that blends the images' own statistics in (Screened
// SoTTA at first) what it would say without them. Never changes, so any thread
// may ask it.
class PublishedNetwork {
 public:
  // The adapter, whose executor it uses, must outlive it.
  explicit PublishedNetwork(const Adapter& adapter);

  // Whether a method predicts in a way that can be published: one forward pass
  // with running statistics, perhaps blended, of a state that updates change.
  static bool can_publish(const Adapter& adapter);

  // Whether the images have the size of those before.
  bool fits(const at::Tensor& images) const;

  StreamAnswer answer(const at::Tensor& images) const;

 private:
  const Executor& executor_;
  ModelState state_;
  int64_t updates_, height_, width_;
};

}  // namespace sotta
