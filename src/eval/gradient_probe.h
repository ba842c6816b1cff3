#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/adapter.h"
#include "sotta/record/run_record.h"
#include "sotta/stream/stream_plan.h"

namespace sotta {

// How hard single samples would pull at the model: the norm of the gradient of
// a sample's entropy by the norm layers' scales and shifts, at the state that
// predicts now. Looks at the first few samples of each kind in a window; the
// adapter does not notice.
class GradientProbe {
 public:
  // `samples` of each kind per window; 0 looks at nothing.
  explicit GradientProbe(int64_t samples) : samples_(samples) {}

  void look(const Adapter& adapter, const at::Tensor& images,
            const StreamPlan& plan, int64_t begin);

  // "gradient_norm_samples" and "gradient_norm_foreign", the mean norm per
  // window; none if it never looked.
  void fill(Series& series) const;

 private:
  int64_t samples_;
  std::vector<double> own_, foreign_;
};

}  // namespace sotta
