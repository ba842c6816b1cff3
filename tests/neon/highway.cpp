#include <hwy/highway.h>

// Highway's library, which is not there for this processor: all of it that is
// left where kernels are compiled for one target only.
namespace hwy {

int64_t SupportedTargets() {
  return HWY_NEON;
}

void SetSupportedTargetsForTest(int64_t) {}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget target;
  return target;
}

}  // namespace hwy
