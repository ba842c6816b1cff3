// A method of your own: let the norm layers' running averages follow the
// stream, and train nothing.
//   2_write_a_method models/fashion_resnet8.safetensors [data root]
#include <cstdio>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "sotta/adapt/adapter.h"
#include "sotta/core/error.h"
#include "sotta/data/dataset.h"
#include "sotta/engine/open_model.h"

class FollowStatistics : public sotta::Method {
 public:
  explicit FollowStatistics(const sotta::MethodContext& context)
      : model_(context.model), state_(model_->source().clone_norm()) {}

  at::Tensor predict(const at::Tensor& images) const override {
    const at::NoGradGuard no_gradients;
    return model_->forward(images, state_, sotta::NormStats::running()).logits;
  }

  sotta::Observation observe(const at::Tensor& images, bool) override {
    const at::NoGradGuard no_gradients;
    last_ = model_->forward(images, state_, sotta::NormStats::batch());
    const at::Tensor logits = predict(images);
    return {
        logits, sotta::classify(logits),
        std::vector<sotta::Verdict>(images.size(0), sotta::Verdict::kAdmitted)};
  }

  sotta::UpdateReport update() override {
    state_.running_mean.lerp_(last_.batch_mean, 0.1);
    state_.running_var.lerp_(last_.batch_var, 0.1);
    sotta::UpdateReport report;
    report.applied = true;
    return report;
  }

  // Named once, this is what snapshots, guards and reset() work with.
  void exchange(sotta::StateArchive& archive) override {
    archive("running_mean", state_.running_mean);
    archive("running_var", state_.running_var);
  }

  sotta::ModelState state() const override { return state_; }

 private:
  std::shared_ptr<const sotta::Classifier> model_;
  sotta::ModelState state_;
  sotta::ForwardResult last_;
};

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s WEIGHTS [DATA_ROOT]\n", argv[0]);
    return 2;
  }
  sotta::MethodContext context;
  context.model = sotta::open_model(argv[1]);
  sotta::Adapter adapter("follow_statistics",
                         std::make_unique<FollowStatistics>(context), context);
  const auto data =
      sotta::open_dataset("fashion-mnist", argc > 2 ? argv[2] : "data");

  int64_t correct = 0;
  const int64_t total = 2048;
  for (int64_t i = 0; i < total; i += 64) {
    const auto [images, labels] = data->range(i, i + 64);
    const auto result = adapter.step(images.div(2, "trunc"));
    correct += result.prediction.labels.eq(labels).sum().item<int64_t>();
  }
  std::printf("follow_statistics: %.1f %%\n", 100.0 * correct / total);
} catch (const sotta::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
