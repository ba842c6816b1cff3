#include "sotta/train/train_options.h"

#include <cmath>

#include "sotta/core/error.h"
#include "sotta/core/options.h"
#include "sotta/train/training_set.h"

namespace sotta {
namespace {

void require_at_least(int64_t value, int64_t low, const char* name) {
  require(value >= low, name,
          "expected at least " + std::to_string(low) + ", got " +
              std::to_string(value));
}

void require_number(bool in_range, double value, const char* name,
                    const char* range) {
  require(
      in_range && std::isfinite(value), name,
      std::string("expected a number ") + range + ", got " + to_text(value));
}

}  // namespace

TrainOptions resolve(TrainOptions options, at::Device device) {
  require_at_least(options.seed, 0, "seed");
  require_at_least(options.epochs, 1, "epochs");
  // One image of one pixel at the last layer has no variance to normalise by.
  require_at_least(options.batch, 2, "batch");
  check_padding(options.padding);
  require_number(options.rate > 0, options.rate, "rate", "above 0");
  require_number(options.momentum > 0 && options.momentum < 1, options.momentum,
                 "momentum", "above 0 and below 1");
  require_number(options.weight_decay >= 0, options.weight_decay,
                 "weight_decay", "of at least 0");
  if (options.precision == "auto")
    options.precision = device.is_cuda() ? "bf16" : "fp32";
  require(options.precision == "fp32" || options.precision == "bf16",
          "precision",
          "expected fp32, bf16 or auto, got \"" + options.precision + "\"");
  return options;
}

}  // namespace sotta
