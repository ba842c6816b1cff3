#include "sotta/nn/gradient.h"

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR >= 2
#include <c10/core/AutogradState.h>
#endif

#include "sotta/core/error.h"

#include "gpu/out_of_memory.h"

namespace sotta {
namespace {

// While it lives, this thread's backward passes run in this thread. LibTorch
// has one thread per GPU for those of all threads: they would wait for each
// other there, and what it does for one thread would meet the CUDA graph that
// another is capturing. LibTorch 1.13 cannot be told.
class BackwardInThisThread {
 public:
#if TORCH_VERSION_MAJOR >= 2
  BackwardInThisThread() {
    state().set_multithreading_enabled(false);
  }
  ~BackwardInThisThread() {
    state().set_multithreading_enabled(before_);
  }

 private:
  static c10::AutogradState& state() {
    return c10::AutogradState::get_tls_state();
  }

  bool before_ = state().get_multithreading_enabled();
#else
  BackwardInThisThread() {}
#endif
};

// A network that was brought along may do what has no gradient, such as
// changing in place what the backward pass needs, or call an operator that has
// none, which LibTorch reports by a plain std::runtime_error.
std::vector<at::Tensor> backward(const std::vector<at::Tensor>& losses,
                                 const std::vector<at::Tensor>& leaves,
                                 bool keep_graph) try {
  std::vector<at::Tensor> roots;  // others depend on none of the leaves
  for (const at::Tensor& loss : losses)
    if (loss.requires_grad()) roots.push_back(loss);
  if (roots.empty()) return std::vector<at::Tensor>(leaves.size());
  return torch::autograd::grad(roots, leaves, /*grad_outputs=*/{}, keep_graph,
                               /*create_graph=*/false,
                               /*allow_unused=*/true);
} catch (const Error&) {
  throw;
} catch (const std::exception& error) {
  if (is_out_of_memory(error)) throw;
  fail(ErrorKind::kUnsupported, "gradient",
       "cannot be computed, LibTorch says: " + first_line(error));
}

}  // namespace

at::Tensor as_leaf(const at::Tensor& values) {
  return values.detach().requires_grad_();
}

at::Tensor gradient_of(const at::Tensor& loss, const at::Tensor& leaf) {
  return gradients_of(loss, {leaf})[0];
}

std::vector<at::Tensor> gradients_of(const at::Tensor& loss,
                                     const std::vector<at::Tensor>& leaves) {
  return gradients_of({loss}, leaves, /*keep_graph=*/false);
}

std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& losses,
                                     const std::vector<at::Tensor>& leaves,
                                     bool keep_graph) {
  const BackwardInThisThread here;
  auto gradients = backward(losses, leaves, keep_graph);
  for (size_t i = 0; i < leaves.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(leaves[i]);
  return gradients;
}

}  // namespace sotta
