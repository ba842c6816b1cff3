#include "train/train_options.h"

#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "core/checks.h"
#include "train/training_set.h"

namespace sotta {
namespace {

// A step of AdamW moves every weight by about the rate.
constexpr double kMostAdamWRate = 0.02;

// Of Beta distributions beyond this most draws would be thrown away.
constexpr double kMostMixing = 4;

}  // namespace

TrainOptions resolve(TrainOptions options, at::Device device) {
  require_at_least("seed", options.seed, 0);
  require_at_least("epochs", options.epochs, 1);
  // One image of one pixel at the last layer has no variance to normalise by.
  require_at_least("batch", options.batch, 2);
  check_padding(options.padding);
  require_one_of("optimiser", options.optimiser, {"sgd", "adamw"});
  require_positive("rate", options.rate);
  require(options.optimiser != "adamw" || options.rate <= kMostAdamWRate,
          "rate",
          "expected at most " + to_text(kMostAdamWRate) +
              " with the optimiser adamw, got " + to_text(options.rate));
  require_within("warm_up", options.warm_up, 0, options.epochs - 1);
  require(options.momentum > 0 && options.momentum < 1, "momentum",
          "expected a number above 0 and below 1, got " +
              to_text(options.momentum));
  require_not_negative("weight_decay", options.weight_decay);
  require(options.label_smoothing >= 0 && options.label_smoothing < 1,
          "label_smoothing",
          "expected a number from 0 to below 1, got " +
              to_text(options.label_smoothing));
  require_within("erase", options.erase, 0.0, 1.0);
  require_within("mixup", options.mixup, 0.0, kMostMixing);
  require_within("cutmix", options.cutmix, 0.0, kMostMixing);
  require_within("plain_epochs", options.plain_epochs, 0, options.epochs);
  if (options.precision == "auto")
    options.precision = device.is_cuda() ? "bf16" : "fp32";
  require(options.precision == "fp32" || options.precision == "bf16",
          "precision",
          "expected fp32, bf16 or auto, got \"" + options.precision + "\"");
  return options;
}

}  // namespace sotta
