#include "train/train_options.h"

#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "core/checks.h"
#include "train/training_set.h"

namespace sotta {

TrainOptions resolve(TrainOptions options, at::Device device) {
  require_at_least("seed", options.seed, 0);
  require_at_least("epochs", options.epochs, 1);
  // One image of one pixel at the last layer has no variance to normalise by.
  require_at_least("batch", options.batch, 2);
  check_padding(options.padding);
  require_positive("rate", options.rate);
  require(options.momentum > 0 && options.momentum < 1, "momentum",
          "expected a number above 0 and below 1, got " +
              to_text(options.momentum));
  require_not_negative("weight_decay", options.weight_decay);
  if (options.precision == "auto")
    options.precision = device.is_cuda() ? "bf16" : "fp32";
  require(options.precision == "fp32" || options.precision == "bf16",
          "precision",
          "expected fp32, bf16 or auto, got \"" + options.precision + "\"");
  return options;
}

}  // namespace sotta
