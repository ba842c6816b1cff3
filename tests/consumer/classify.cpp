#include <iostream>

#include <ATen/ops/zeros.h>
#include <sotta/engine/open_model.h>

// The README's example: one batch through a model.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto model = sotta::open_model(argv[1]);

  const at::Tensor images =
      at::zeros({8, model->channels(), 28, 28}, at::kByte);
  const sotta::ForwardResult result =
      model->forward(images, model->source(), sotta::NormStats::running());

  std::cout << result.logits.argmax(1) << "\n";
}
