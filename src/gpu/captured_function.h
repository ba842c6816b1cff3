#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// A function of a tensor that is called again and again, mostly with tensors of
// one shape, a stream's full windows: on a GPU such calls are captured as a
// CUDA graph, which is launched from there on (CudaGraph). Calls with tensors
// of other shapes run the function itself.
class CapturedFunction {
 public:
  // Must never wait for the device. What it reads beside its argument, and all
  // it changes, must stay where it is in memory: state is changed in place.
  using Function = std::function<std::vector<at::Tensor>(const at::Tensor&)>;

  // Without `capture` it is the function and no more.
  CapturedFunction(Function function, bool capture);
  ~CapturedFunction();
  CapturedFunction(const CapturedFunction&) = delete;
  CapturedFunction& operator=(const CapturedFunction&) = delete;

  // What the function gives. A graph's results are copies, the caller's to
  // keep.
  std::vector<at::Tensor> operator()(const at::Tensor& input);

 private:
  struct Captured;

  Captured* find(const at::Tensor& input);

  Function function_;
  bool capture_;
  // The last call's input, and how many in a row were like it.
  std::vector<int64_t> last_shape_;
  at::ScalarType last_type_ = at::kFloat;
  int64_t alike_ = 0;
  std::vector<std::unique_ptr<Captured>> captured_;
};

}  // namespace sotta
