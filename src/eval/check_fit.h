#pragma once

#include <string>

#include "sotta/data/dataset.h"
#include "sotta/models/classifier.h"

namespace sotta {

// Throws Error(kInvalid) naming `subject` unless the dataset's classes and
// channels are those of the model.
void check_fit(const Classifier& model, const Dataset& data,
               const std::string& subject);

}  // namespace sotta
