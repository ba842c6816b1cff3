#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/engine/executor.h"

#include "gpu/captured_function.h"
#include "nn/convolution.h"

namespace sotta {

// How the tensors of a struct leave a CUDA graph: scalars stacked behind the
// others, as every tensor that leaves is a copy of its own.
class ResultLayout {
 public:
  // Which tensors are undefined, float scalars or others must not change from
  // call to call.
  std::vector<at::Tensor> pack(const std::vector<at::Tensor*>& tensors);
  void unpack(const std::vector<at::Tensor>& packed,
              const std::vector<at::Tensor*>& tensors) const;

 private:
  enum class Kind { kUndefined, kScalar, kOther };
  std::vector<Kind> kinds_;
};

// A function of images that a method calls window after window, or of several
// tensors that change from call to call, the images first. With
// ExecutorOptions::cuda_graphs calls with as many images as before are captured
// as a CUDA graph (CapturedFunction); otherwise it is the function itself.
//
// `Result` is a struct of tensors, some of which may be undefined; its
// tensors() lists pointers to all of them.
template <class Result>
class RecurringWork {
 public:
  using Tensors = std::vector<at::Tensor>;

  // Must never wait for the device. What it reads beside its arguments, and all
  // it changes, must stay where it is in memory: state is changed in place.
  using Function = std::function<Result(const at::Tensor& images)>;
  using FunctionOfSeveral = std::function<Result(const Tensors& inputs)>;

  // `full_batch`: smaller batches come with another size each, as while a
  // memory fills. They are not captured, and where graphs are used their
  // convolutions are padded to the full batch (LeastBatch).
  RecurringWork(const Executor& executor, Function work, int64_t full_batch = 0)
      : RecurringWork(
            executor,
            FunctionOfSeveral([work = std::move(work)](const Tensors& inputs) {
              return work(inputs[0]);
            }),
            full_batch) {}
  RecurringWork(const Executor& executor, FunctionOfSeveral work,
                int64_t full_batch = 0)
      : work_(std::move(work)),
        cuda_graphs_(executor.options().cuda_graphs),
        full_batch_(full_batch),
        captured_(
            [this](const Tensors& inputs) {
              Result result = work_(inputs);
              return layout_.pack(result.tensors());
            },
            cuda_graphs_) {}

  // Its tensors are the caller's to keep.
  Result operator()(const at::Tensor& images) {
    return (*this)(Tensors{images});
  }
  Result operator()(const Tensors& inputs) {
    if (!cuda_graphs_) return work_(inputs);
    if (inputs[0].size(0) < full_batch_) {
      const LeastBatch as_if_full(full_batch_);
      return work_(inputs);
    }
    const Tensors packed = captured_(inputs);
    Result result;
    layout_.unpack(packed, result.tensors());
    return result;
  }

 private:
  FunctionOfSeveral work_;
  bool cuda_graphs_;
  int64_t full_batch_;
  ResultLayout layout_;
  CapturedFunction captured_;
};

}  // namespace sotta
