#include <new>
#include <stdexcept>

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "gpu/out_of_memory.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

const std::string kAdvice = "a smaller --batch needs less";

void throw_gpu_report() {
  TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to ...");
}

TEST(OutOfMemory, GpuReportBecomesOneSentence) {
  testing::expect_error(
      ErrorKind::kInvalid,
      "memory: the device has too little for this run, " + kAdvice,
      [] { explain_out_of_memory(kAdvice, throw_gpu_report); });
}

TEST(OutOfMemory, IsRecognisedByTypeAndByWords) {
  EXPECT_TRUE(is_out_of_memory(std::bad_alloc()));
  for (const char* text :
       {"CUDA error: out of memory", "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8"})
    EXPECT_TRUE(is_out_of_memory(std::runtime_error(text))) << text;
  EXPECT_FALSE(is_out_of_memory(std::runtime_error("shapes do not fit")));
}

TEST(OutOfMemory, OtherErrorsPass) {
  EXPECT_THROW(explain_out_of_memory(
                   kAdvice, [] { throw std::runtime_error("shapes"); }),
               std::runtime_error);
  // Ours have said what there is to say, whatever words they use.
  testing::expect_error(ErrorKind::kIo, "out of memory", [] {
    explain_out_of_memory(
        kAdvice, [] { fail(ErrorKind::kIo, "disk", "out of memory"); });
  });
}

}  // namespace
}  // namespace sotta
