// What CONTRIBUTING calls adding a method, a scenario and a corruption, done
// without touching the library: each is defined here, registered, and then
// known to every verb of the program.
#include <memory>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/corrupt/corruption_kind.h"
#include "sotta/stream/scenario.h"

#include "program.h"

namespace {

struct FollowOptions {
  double rate = 0.1;  // share of a window's statistics

  static FollowOptions preset(sotta::Preset, int64_t) { return {}; }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("rate", rate, "share of a window's statistics");
  }
};

// Lets the running averages follow the stream, and trains nothing.
class FollowStatistics : public sotta::Method {
 public:
  FollowStatistics(const sotta::MethodContext& context,
                   const FollowOptions& options)
      : options_(options),
        model_(context.model),
        state_(model_->source().clone_norm()) {}

  at::Tensor predict(const at::Tensor& images) const override {
    const at::NoGradGuard no_gradients;
    return model_->forward(images, state_, sotta::NormStats::running()).logits;
  }

  sotta::Observation observe(const at::Tensor& images, bool) override {
    const at::NoGradGuard no_gradients;
    last_ = model_->forward(images, state_, sotta::NormStats::batch());
    const at::Tensor logits = predict(images);
    return sotta::observed(logits, sotta::classify(logits),
                           sotta::Verdict::kAdmitted);
  }

  sotta::UpdateReport update() override {
    state_.running_mean.lerp_(last_.batch_mean, options_.rate);
    state_.running_var.lerp_(last_.batch_var, options_.rate);
    ++windows_;
    sotta::UpdateReport report;
    report.applied = true;
    return report;
  }

  void exchange(sotta::StateArchive& archive) override {
    archive("running_mean", state_.running_mean);
    archive("running_var", state_.running_var);
    archive.survives_trial([&] { archive("windows", windows_); });
  }

  sotta::ModelState state() const override { return state_; }

 private:
  FollowOptions options_;
  std::shared_ptr<const sotta::Classifier> model_;
  sotta::ModelState state_;
  sotta::ForwardResult last_;
  int64_t windows_ = 0;
};

std::unique_ptr<sotta::Method> make_follow(const sotta::MethodContext& context,
                                           const FollowOptions& options) {
  return std::make_unique<FollowStatistics>(context, options);
}

// Images of vertical stripes; their width follows the index.
class Stripes : public sotta::Dataset {
 public:
  explicit Stripes(const sotta::ImageShape& shape) : shape_(shape) {}

  int64_t size() const override { return 1000; }
  int64_t classes() const override { return 1; }
  sotta::ImageShape shape() const override { return shape_; }

  sotta::LabelledImages get(
      const std::vector<int64_t>& indices) const override {
    check_indices(indices);
    const auto count = static_cast<int64_t>(indices.size());
    const at::Tensor images = at::empty(
        {count, shape_.channels, shape_.height, shape_.width}, at::kByte);
    const at::Tensor column = at::arange(shape_.width);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t width = 1 + indices[static_cast<size_t>(i)] % 7;
      const at::Tensor stripes =
          column.div(width, "floor").remainder(2).mul(255).to(at::kByte);
      images.select(0, i).copy_(stripes.expand_as(images.select(0, i)));
    }
    return {images, at::zeros({count}, at::kLong)};
  }

 private:
  sotta::ImageShape shape_;
};

// Moves every pixel towards its opposite.
class Inverted : public sotta::CorruptionKind {
 public:
  explicit Inverted(const sotta::KindSetting& setting)
      : share_(static_cast<double>(setting.severity) / 5) {}

  at::Tensor apply(const at::Tensor& images,
                   const sotta::Draws&) const override {
    const at::Tensor pixels = images.to(at::kFloat);
    return pixels.lerp(255 - pixels, share_).round().to(at::kByte);
  }

 private:
  double share_;
};

void register_all() {
  sotta::register_method(
      sotta::method_entry("follow_statistics", "Follow", make_follow));

  sotta::Scenario stripes;
  stripes.name = "stripes";
  stripes.label = "Stripes";
  stripes.foreign = sotta::Scenario::Foreign::kGenerated;
  stripes.generate = [](const sotta::Rng&, const sotta::ImageShape& shape) {
    return std::make_shared<Stripes>(shape);
  };
  sotta::register_scenario(stripes);

  sotta::register_corruption(
      {"inverted", "Invert.", [](const sotta::KindSetting& setting) {
         return std::make_unique<Inverted>(setting);
       }});
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  return sotta::cli::run_program(argc, argv);
}
