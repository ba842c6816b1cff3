#include "sotta/attack/attack.h"

#include <ATen/ops/zeros_like.h>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "attack/sign_ascent.h"
#include "attack/trial_updates.h"
#include "core/checks.h"

namespace sotta {
namespace {

void check_images(const Adapter& adapter, const at::Tensor& images) {
  const int64_t channels = adapter.model().channels();
  require(images.defined() && images.dim() == 4 && images.size(0) > 0 &&
              images.size(1) == channels,
          "attack",
          "expected images [N, " + std::to_string(channels) + ", H, W], got " +
              (images.defined() ? c10::str(images.sizes()) : "none"));
  const auto type = images.scalar_type();
  require(type == at::kByte || type == at::kFloat, "attack",
          std::string("expected uint8 or float images, got ") +
              c10::toString(type));
  const at::Device device = adapter.model().source().affine.device();
  require(
      images.device() == device, "attack",
      "expected images on " + device.str() + ", got " + images.device().str());
  if (type == at::kByte) return;
  // A comparison with NaN is false.
  require(images.ge(0).logical_and(images.le(1)).all().item<bool>(), "attack",
          "expected images within 0 .. 1, got others");
}

void check_knowledge(const AttackWindow& window, int64_t classes) {
  const auto check = [&](const char* what, const at::Tensor& values,
                         at::ScalarType type) {
    require(
        values.defined() && values.scalar_type() == type && values.dim() == 1 &&
            values.size(0) == window.images.size(0),
        "attack",
        std::string("expected ") + what + " as " + c10::toString(type) + " [" +
            std::to_string(window.images.size(0)) + "], got " +
            (values.defined() ? c10::str(c10::toString(values.scalar_type()),
                                         " ", values.sizes())
                              : "none"));
  };
  check("malicious", window.malicious, at::kBool);
  check("labels", window.labels, at::kLong);
  const auto highest = window.labels.max().item<int64_t>();
  require(highest < classes, "attack",
          "expected labels below " + std::to_string(classes) + ", got " +
              std::to_string(highest));
}

// With running statistics the malicious samples and the others do not meet
// inside the network, and the published gradient ends there. Through the update
// of the statistics they meet only if there is one.
bool gradient_is_zero(const Method& method, const AttackOptions& options) {
  if (options.mode == "surrogate" ||
      method.prediction_stats().source != NormStats::Source::kRunning)
    return false;
  return options.mode == "paper" || method.statistics_share() == 0;
}

}  // namespace

AttackOptions AttackOptions::preset(Preset preset, int64_t classes) {
  AttackOptions options;
  if (has_imagenet_size(classes)) {
    options.eps = 0.2;
    options.steps = 1;
  }
  options.keep_traces = preset == Preset::kPaper;
  return options;
}

std::vector<std::string> attack_modes() {
  return {"paper", "surrogate", "adaptive"};
}

void validate(const AttackOptions& options) {
  require_one_of("attack", options.mode, attack_modes());
  require_one_of("attack_weights", options.weights, {"adapted", "source"});
  require_within("attack_eps", options.eps, 0, 1);
  require_at_least("attack_steps", options.steps, 1);
  require(options.step_size > 0 && options.step_size <= 1, "attack_step_size",
          "expected above 0 and at most 1, got " + to_text(options.step_size));
}

AttackResult craft(Adapter& adapter, const AttackWindow& window,
                   const AttackOptions& options) {
  validate(options);
  check_images(adapter, window.images);
  check_knowledge(window, adapter.model().classes());

  const bool alone = find_sides(window, at::kCPU).empty();
  const bool zero_gradient = gradient_is_zero(adapter.method(), options);
  const bool leaves_traces = options.keep_traces && options.mode != "surrogate";
  TrialUpdates trials(adapter, options.keep_traces);

  // The published code adapts to the window as it comes before it thinks of an
  // attack, and then to every candidate, even if none differs from another.
  if (leaves_traces) trials.run(window.images);
  if (!alone && !zero_gradient) return ascend(adapter, trials, window, options);
  if (leaves_traces && !alone)
    for (int64_t step = 0; step < options.steps; ++step)
      trials.run(window.images);

  AttackResult result;
  result.images = window.images;
  result.perturbation = at::zeros_like(window.images, at::kFloat);
  result.trial_updates = trials.count();
  result.zero_gradient = zero_gradient;
  return result;
}

}  // namespace sotta
