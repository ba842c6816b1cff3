#pragma once

#include <cstdint>
#include <functional>

#include "sotta/core/progress.h"

#include "train/trainer.h"

namespace sotta {

struct TrainEvents {
  // After every step, with the images seen since the very beginning. Returning
  // false stops the training there.
  ProgressCallback progress;

  // After every epoch, with its number counted from 1.
  std::function<void(int64_t epoch, const EpochFigures& figures)> epoch_ended;
};

// Makes all steps that are left. Returns false if the callback stopped it; the
// trainer can then be saved, or go on.
//
// Throws Error(kInvalid) after an epoch whose loss is no number.
bool train(Trainer& trainer, const TrainEvents& events = {});

}  // namespace sotta
