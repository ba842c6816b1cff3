#include "eval/model_checksum.h"

#include <cstdio>
#include <cstring>

#include "sotta/core/rng.h"

namespace sotta {

std::string model_checksum(const ModelState& state) {
  uint64_t hash = 0;
  for (const auto& part :
       {state.body, state.affine, state.running_mean, state.running_var}) {
    const at::Tensor numbers = part.detach().to(at::kFloat).cpu().contiguous();
    const float* values = numbers.data_ptr<float>();
    for (int64_t i = 0; i < numbers.numel(); ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, values + i, sizeof bits);
      hash = mix64(hash + bits);
    }
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace sotta
