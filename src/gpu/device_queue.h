#pragma once

#include <cstdint>
#include <optional>

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

namespace sotta {

// While it lives, what this thread asks of a GPU goes into a queue (CUDA: a
// stream) of its own, so that several threads' work runs side by side. What
// others are to use must be waited for. Nothing on a CPU.
//
// LibTorch has kMost of them; further threads share them, which is slower, and
// wrong while work of one is captured (CudaGraph).
class OwnQueue {
 public:
  static constexpr int64_t kMost = 32;

  explicit OwnQueue(at::Device device);

 private:
  std::optional<c10::StreamGuard> guard_;
};

// A queue that several threads put their work into, one after another: what one
// has put there, the next need not wait for. Nothing on a CPU.
class SharedQueue {
 public:
  // One of those that OwnQueue takes.
  explicit SharedQueue(at::Device device);

  // While it lives, this thread's work goes there.
  class Use {
   public:
    explicit Use(const SharedQueue& queue);

   private:
    std::optional<c10::StreamGuard> guard_;
  };

 private:
  std::optional<c10::Stream> stream_;
};

// As long as one lives with `shared`, several threads of this process work on a
// GPU side by side. Kernels that need all of it at once are not used, as others
// would have to get out of their way, and none begins before the one in front
// of it has ended. A program that has the GPU work for other threads beside
// ours must hold one. Changes the last bits.
class SharedDevice {
 public:
  explicit SharedDevice(bool shared);
  ~SharedDevice();
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;

  static bool now();

 private:
  bool shared_;
};

}  // namespace sotta
