#include "gpu/out_of_memory.h"

#include <cstdint>

#include <ATen/ops/empty.h>

#include "tests/gpu/on_gpu.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

class GpuMemory : public testing::OnGpu {};

TEST_F(GpuMemory, ThatRunsOutIsOneSentence) {
  const int64_t too_many = int64_t{1} << 45;
  testing::expect_error(
      ErrorKind::kInvalid,
      "memory: the device has too little for this run, take less", [&] {
        explain_out_of_memory("take less", [&] {
          at::empty({too_many}, at::TensorOptions(gpu).dtype(at::kByte));
        });
      });
}

}  // namespace
}  // namespace sotta
