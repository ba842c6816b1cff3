#pragma once

#include <cstdint>

#include "engine/cpu/buffer.h"
#include "engine/cpu/crew.h"

namespace sotta::engine {

// Methods that go there and back twice before they change anything begin both
// times with the same images. The stem's weights are frozen, so its output and
// the sums of it are there already; this notices.
class StemRecord {
 public:
  struct Numbers {
    const float* data = nullptr;
    int64_t size = 0;
  };

  // A forward pass begins: whether it has, bit for bit, the images and the
  // centres of sums of the one before, whose output is there. If not, the
  // output and the sums are to be made.
  bool begin(Numbers images, Numbers centres);

  // A backward pass is done and has left the stem's output where it is.
  void output_stays() { there_ = true; }

  // The pass that begins makes no sums.
  void forget() { images_ = centres_ = 0; }

  SumSlots sums;

 private:
  FloatBuffer kept_;  // images, centres
  int64_t images_ = 0, centres_ = 0;
  bool there_ = false;
};

}  // namespace sotta::engine
