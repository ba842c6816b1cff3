#pragma once

#include <cstdint>

#include "sotta/core/progress.h"
#include "sotta/data/dataset.h"
#include "sotta/models/classifier.h"

namespace sotta {

struct EvaluateOptions {
  // Images in one forward pass. Changes speed and memory, not the result.
  int64_t batch = 64;

  // Images to look at, from the first on; 0 means all.
  int64_t limit = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("batch", batch, "images in one forward pass");
    v("limit", limit, "images to look at, 0 for all");
  }
};

struct EvaluateResult {
  int64_t samples = 0;
  int64_t correct = 0;
  double seconds = 0;
  bool stopped = false;  // the callback asked for it

  double accuracy() const;  // percent; 0 without samples
};

// The accuracy of the model as it was loaded, with its running statistics.
// Holds one batch at a time. Throws Error(kInvalid) if the dataset's classes or
// channels do not fit the model.
EvaluateResult evaluate(const Classifier& model, const Dataset& data,
                        const EvaluateOptions& options,
                        const ProgressCallback& progress = {});

}  // namespace sotta
