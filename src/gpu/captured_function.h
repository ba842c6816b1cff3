#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// A function of tensors that is called again and again, mostly with tensors of
// the same shapes, a stream's full windows: on a GPU such calls are captured as
// a CUDA graph, which is launched from there on (CudaGraph). Calls with tensors
// of other shapes run the function itself.
class CapturedFunction {
 public:
  using Tensors = std::vector<at::Tensor>;

  // Must never wait for the device. What it reads beside its arguments, and all
  // it changes, must stay where it is in memory: state is changed in place.
  using Function = std::function<Tensors(const Tensors& inputs)>;

  // Without `capture` it is the function and no more.
  CapturedFunction(Function function, bool capture);
  ~CapturedFunction();
  CapturedFunction(const CapturedFunction&) = delete;
  CapturedFunction& operator=(const CapturedFunction&) = delete;

  // What the function gives. A graph's results are copies, the caller's to
  // keep.
  Tensors operator()(const Tensors& inputs);

 private:
  struct Captured;
  using Form = std::pair<at::ScalarType, std::vector<int64_t>>;  // with shape

  static std::vector<Form> forms_of(const Tensors& tensors);
  Captured* find(const Tensors& inputs);

  Function function_;
  bool capture_;
  // The form of the last call's inputs, and how many in a row had it.
  std::vector<Form> last_;
  int64_t alike_ = 0;
  std::vector<std::unique_ptr<Captured>> captured_;
};

}  // namespace sotta
