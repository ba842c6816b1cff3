#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"

namespace sotta {

// Options of LAME (Boudiaf et al., CVPR 2022): the network stays as it is, and
// the predictions of a window are drawn towards those of similar samples.
struct LameOptions {
  // Each sample looks at its nearest ones in feature space (k; SoTTA's paper
  // uses 5). Windows of k samples or fewer use all others.
  int64_t neighbours = 5;

  // Pull of the neighbours against the network's own prediction (lambda; 1 in
  // the published code). 0 gives the network's predictions.
  double affinity_weight = 1;

  // The assignment is iterated until its energy changes by less than this share
  // of itself, or so many times (both the published code's).
  int64_t max_iterations = 100;
  double tolerance = 1e-8;

  // Compare directions of features only, as LAME's authors do; the code behind
  // SoTTA's tables compared the features themselves.
  bool normalise_features = true;

  static LameOptions preset(Preset preset, int64_t classes);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("neighbours", neighbours, "nearest samples that each one looks at");
    v("affinity_weight", affinity_weight, "pull of the neighbours");
    v("max_iterations", max_iterations, "most iterations for a window");
    v("tolerance", tolerance, "relative change of the energy that ends them");
    v("normalise_features", normalise_features,
      "compare directions of features only");
  }
};

void validate(const LameOptions& options);

// Throws Error(kInvalid) if an option is out of range.
std::unique_ptr<Method> make_lame(const MethodContext& context,
                                  const LameOptions& options);

// The method on outputs that are already at hand: from the network's logits
// [N, K] and features [N, F] of a window, logits whose softmax is the
// assignment.
at::Tensor lame_logits(const at::Tensor& logits, const at::Tensor& features,
                       const LameOptions& options);

// Its two halves.

// W [N, N]: W[i][j] is 1 if j is among the `neighbours` nearest of i by
// features [N, F], else 0. No sample is its own neighbour; W need not be
// symmetric.
at::Tensor neighbour_matrix(const at::Tensor& features,
                            const LameOptions& options);

// Y [N, K]: class probabilities that agree with the logits [N, K] and with the
// neighbours'. Does not wait for a GPU, which may then iterate on in vain after
// it has settled (LateFlag).
at::Tensor laplacian_assignment(const at::Tensor& logits,
                                const at::Tensor& neighbours,
                                const LameOptions& options);

}  // namespace sotta
