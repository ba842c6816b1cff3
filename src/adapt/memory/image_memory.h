#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/prediction.h"
#include "sotta/adapt/snapshot.h"

#include "adapt/memory/sample_memory.h"

namespace sotta {

// A SampleMemory together with the images it keeps: one tensor of `capacity`
// slots on the device, bytes as long as the stream is bytes. What arrives waits
// beside it, a call or `capacity` images of it, until the images are asked for,
// and is then put in its place in one go: on a GPU calls take time, not data.
// What was given out last shares memory with the slots.
class ImageMemory {
 public:
  ImageMemory(std::unique_ptr<SampleMemory> memory, int64_t capacity,
              int64_t classes, Rng rng);

  // Offers a part of the stream, sample by sample. Those that a screen has
  // found foreign are passed over; `foreign` may be empty: none. Of what is
  // kept already it lets go first, where `keep` is not empty: one answer for
  // each in the order of items(). All or nothing happens where memory runs out.
  std::vector<Verdict> offer(const at::Tensor& images,
                             const Prediction& prediction,
                             const std::vector<bool>& foreign = {},
                             const std::vector<bool>& keep = {});

  // The kept images [n, C, H, W] in batch order, and what is known of them.
  at::Tensor images();
  at::Tensor copy_images() const;  // undefined if there are none
  std::vector<MemoryItem> items() const { return memory_->items(); }
  bool empty() const { return memory_->items().empty(); }
  void clear() { memory_->set_items({}); }

  // The next sample it is offered is the stream's `next`-th: a state that was
  // put back keeps counting where the stream is.
  void go_on_at(int64_t next) { offered_ = next; }

  void exchange(StateArchive& archive, at::Device device);

 private:
  void keep_only(const std::vector<bool>& keep);
  at::Tensor placed(const std::vector<MemoryItem>& wanted) const;
  void settle(const at::Tensor& placed);
  void nothing_waits();
  void take_ages(std::vector<MemoryItem>& items) const;
  void check_content(const at::Tensor& packed, const at::Tensor& images) const;

  std::unique_ptr<SampleMemory> memory_;
  int64_t capacity_;
  int64_t classes_;
  Rng rng_;
  int64_t offered_ = 0;  // place in the stream of the next sample
  at::Tensor slots_;     // [capacity, C, H, W], undefined before the first
  at::Tensor arrived_;   // waits; undefined if nothing does
  // Where each slot's image is: a row of slots_, or behind them of arrived_.
  std::vector<int64_t> place_;
};

}  // namespace sotta
