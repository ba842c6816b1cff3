#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>

namespace sotta {

// How a source model is trained: gradient descent on the mean cross-entropy, a
// cosine from `rate` to 0, last weights kept. Defaults are those of the SoTTA
// paper's CIFAR models (NeurIPS 2023, appendix) and, where its text is silent
// (Nesterov, decay, crop, flip), of its published code. What transformers need
// besides is off by default; docs/training.md has a recipe.
struct TrainOptions {
  // Decides the first weights, the order of the images and their views.
  int64_t seed = 0;

  // Times every image is seen. Fewer epochs shorten the cosine with them.
  int64_t epochs = 200;

  // Images in one step, at least 2. What does not fill the last batch of an
  // epoch is left out of it.
  int64_t batch = 128;

  // "sgd": Nesterov's momentum, weight decay of every parameter. "adamw":
  // steps of about the rate's length each, whatever the gradient's; decay of
  // weights alone: not of biases, norm layers, class token or positions.
  std::string optimiser = "sgd";

  // Largest learning rate, above 0; with adamw at most 0.02.
  double rate = 0.1;

  // Epochs at the beginning over which the rate rises in a straight line; the
  // cosine has the others. Below `epochs`.
  int64_t warm_up = 0;

  // Share of the last step kept, above 0 and below 1; with adamw that of the
  // mean gradient (beta1; beta2, of its square, is 0.999).
  double momentum = 0.9;

  // At least 0. With sgd times the parameters added to their gradient, with
  // adamw times the rate times the parameters taken off them.
  double weight_decay = 5e-4;

  // Share of a label that all classes have in equal parts, 0 to below 1.
  double label_smoothing = 0;

  // Black pixels put around an image before a window of its own size is cut
  // out at random; 0 leaves images where they are, 4096 is the most.
  int64_t padding = 4;

  // Half of the views are mirrored, left to right.
  bool flip = true;

  // Probability that a rectangle of a view is made black: 2 to 33 % of it.
  double erase = 0;

  // Views mixed with others of their batch, labels with them: weighted means
  // (mixup), or a rectangle of the other (CutMix); of both a coin decides. The
  // share is drawn from Beta(a, a): a from 0, which is never, to 4.
  double mixup = 0;
  double cutmix = 0;

  // Epochs at the end whose views are neither mixed nor made black in part.
  int64_t plain_epochs = 0;

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
    v("optimiser", optimiser, "sgd (Nesterov) or adamw");
    v("rate", rate, "largest learning rate");
    v("warm_up", warm_up, "epochs over which the rate rises at the beginning");
    v("momentum", momentum, "share of the last step kept; of adamw: beta1");
    v("weight_decay", weight_decay, "of parameters; of adamw: of weights");
    v("label_smoothing", label_smoothing, "share of a label all classes have");
    v("padding", padding, "black pixels around an image before the crop");
    v("flip", flip, "mirror half of the views");
    v("erase", erase, "probability that a rectangle of a view is made black");
    v("mixup", mixup, "mix views, share from Beta(a, a); 0: do not");
    v("cutmix", cutmix, "mix rectangles of views, likewise; 0: do not");
    v("plain_epochs", plain_epochs,
      "last epochs without --erase, --mixup, --cutmix");
    v("precision", precision, "fp32, bf16, or auto: bf16 on a GPU");
    v("cuda_graphs", cuda_graphs, "on a GPU, capture a step as a CUDA graph");
  }
};

// The options with "auto" decided for this device. Throws Error(kInvalid) for
// the first option out of its range, naming it.
TrainOptions resolve(TrainOptions options, at::Device device);

}  // namespace sotta
