#include "gpu/kernels/compute_capability.h"

namespace sotta {

int compute_capability(at::Device /*device*/) {
  return 0;
}

}  // namespace sotta
