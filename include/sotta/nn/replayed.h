#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// A function of a tensor that is called again and again, mostly with tensors of
// one shape, a stream's full windows: on a GPU such calls are recorded and
// replayed, see StepGraph. Calls with tensors of other shapes are plain ones.
class Replayed {
 public:
  // Must never wait for the device. What it reads beside its argument, and all
  // it changes, must stay where it is in memory: state is changed in place.
  using Function = std::function<std::vector<at::Tensor>(const at::Tensor&)>;

  // Without `replay` it is the function and no more.
  Replayed(Function function, bool replay);
  ~Replayed();
  Replayed(const Replayed&) = delete;
  Replayed& operator=(const Replayed&) = delete;

  // What the function gives. A replay's results are copies, the caller's to
  // keep.
  std::vector<at::Tensor> operator()(const at::Tensor& input);

 private:
  struct Recorded;

  Recorded* find(const at::Tensor& input);

  Function function_;
  bool replay_;
  // The last call's input, and how many in a row were like it.
  std::vector<int64_t> last_shape_;
  at::ScalarType last_type_ = at::kFloat;
  int64_t alike_ = 0;
  std::vector<std::unique_ptr<Recorded>> recorded_;
};

}  // namespace sotta
