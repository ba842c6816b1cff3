#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/stream/stream_plan.h"
#include "sotta/stream/stream_sources.h"

namespace sotta {

class ReadAhead;

// The images of a stream in the order of its plan: what an adapter may see, and
// nothing else.
//
//   StreamSources sources = open_sources("cifar10", root, options);
//   auto plan = std::make_shared<const StreamPlan>(options, sources);
//   Stream stream(plan, sources);
//   while (stream.position() < stream.size())
//     adapter.step(stream.next(plan->options().window));
//
// Images are read ahead in threads of the stream's own, at most
// StreamOptions::read_ahead of them at a time; so memory does not grow with the
// length of the stream. What comes out depends neither on that nor on how the
// stream is cut into calls.
//
// read() may run from several threads at once, other methods need the caller's
// lock.
class Stream {
 public:
  // Throws Error(kInvalid) if the sources do not fit the plan.
  Stream(std::shared_ptr<const StreamPlan> plan, const StreamSources& sources);
  ~Stream();  // waits for an image that is being read
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  int64_t size() const;
  ImageShape shape() const { return shape_; }

  // The sample that next() begins with.
  int64_t position() const { return position_; }

  // The next images, uint8 [N, C, H, W] on the CPU: `count` of them, fewer at
  // the end, none after it. An image that cannot be read throws its dataset's
  // error in the call that asks for it and leaves the position where it was.
  at::Tensor next(int64_t count);

  // Goes on from this sample: window k begins at k * window. Throws
  // Error(kInvalid) outside 0 .. size().
  void seek(int64_t position);

  // The images begin .. end-1, read now and in this thread; does not move the
  // position. Throws as next() does.
  at::Tensor read(int64_t begin, int64_t end) const;

 private:
  struct Recipe;  // which image of which set stands at each position

  std::shared_ptr<const Recipe> recipe_;
  ImageShape shape_;
  int64_t position_ = 0;
  std::unique_ptr<ReadAhead> reader_;
};

}  // namespace sotta
