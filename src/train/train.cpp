#include "train/train.h"

#include <cmath>
#include <cstdio>
#include <string>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta {
namespace {

// "epoch 3/200" and, once one has ended, the last one's figures.
std::string note_of(int64_t epoch, int64_t epochs, const EpochFigures* last) {
  char text[96];
  const auto now = static_cast<long long>(epoch);
  const auto all = static_cast<long long>(epochs);
  if (last)
    std::snprintf(text, sizeof text,
                  "epoch %lld/%lld, loss %.4f, accuracy %.2f %%", now, all,
                  last->loss, last->accuracy);
  else
    std::snprintf(text, sizeof text, "epoch %lld/%lld", now, all);
  return text;
}

void check_loss(int64_t epoch, double loss, double rate) {
  require(std::isfinite(loss), "training",
          "the loss is no number after epoch " + std::to_string(epoch) +
              ", a rate below " + to_text(rate) + " may help");
}

}  // namespace

bool train(Trainer& trainer, const TrainEvents& events) {
  const TrainOptions& options = trainer.options();
  const int64_t per_epoch = trainer.steps_per_epoch();
  Progress progress;
  progress.total = trainer.steps() * options.batch;
  progress.note =
      note_of(trainer.step() / per_epoch + 1, options.epochs, nullptr);

  while (!trainer.done()) {
    trainer.advance();
    if (trainer.step() % per_epoch == 0) {
      const int64_t epoch = trainer.step() / per_epoch;
      const EpochFigures figures = trainer.figures(epoch - 1);
      check_loss(epoch, figures.loss, options.rate);
      progress.note = note_of(epoch, options.epochs, &figures);
      if (events.epoch_ended) events.epoch_ended(epoch, figures);
    }
    progress.done = trainer.step() * options.batch;
    if (events.progress && !events.progress(progress)) return trainer.done();
  }
  return true;
}

}  // namespace sotta
