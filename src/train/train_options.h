#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>

namespace sotta {

// How a source model is trained: stochastic gradient descent with Nesterov
// momentum on the mean cross-entropy, a cosine from `rate` to 0 over all steps,
// weight decay on every parameter, last weights kept. Defaults are those of the
// SoTTA paper's CIFAR models (NeurIPS 2023, appendix) and, where its text is
// silent (Nesterov, decay, crop, flip), of its published code.
struct TrainOptions {
  // Decides the first weights, the order of the images and their views.
  int64_t seed = 0;

  // Times every image is seen. Fewer epochs shorten the cosine with them.
  int64_t epochs = 200;

  // Images in one step, at least 2. What does not fill the last batch of an
  // epoch is left out of it.
  int64_t batch = 128;

  // Learning rate of the first step, above 0.
  double rate = 0.1;

  // Share of the last step kept, above 0 and below 1.
  double momentum = 0.9;

  // Times the parameters, added to their gradient; at least 0.
  double weight_decay = 5e-4;

  // Black pixels put around an image before a window of its own size is cut
  // out at random; 0 leaves images where they are, 4096 is the most.
  int64_t padding = 4;

  // Half of the views are mirrored, left to right.
  bool flip = true;

  // "fp32", or "bf16": activations and their gradients in bfloat16, weights,
  // steps and norm layers in float32. "auto" is bf16 on a GPU, fp32 elsewhere.
  std::string precision = "auto";

  // What changes only speed.

  // On a GPU, captures the work of one step as a CUDA graph, if this build can:
  // one launch instead of hundreds.
  bool cuda_graphs = true;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("seed", seed, "first weights, order and views of the images");
    v("epochs", epochs, "times every image is seen");
    v("batch", batch, "images in one step");
    v("rate", rate, "learning rate of the first step");
    v("momentum", momentum, "share of the last step kept");
    v("weight_decay", weight_decay, "times the parameters, added to gradients");
    v("padding", padding, "black pixels around an image before the crop");
    v("flip", flip, "mirror half of the views");
    v("precision", precision, "fp32, bf16, or auto: bf16 on a GPU");
    v("cuda_graphs", cuda_graphs, "on a GPU, capture a step as a CUDA graph");
  }
};

// The options with "auto" decided for this device. Throws Error(kInvalid) for
// the first option out of its range, naming it.
TrainOptions resolve(TrainOptions options, at::Device device);

}  // namespace sotta
