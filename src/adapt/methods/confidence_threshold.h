#pragma once

#include <cstdint>

#include "sotta/adapt/method.h"

namespace sotta {

// SoTTA's smallest confidence, C0, without labels; see docs/methods/sotta.md.

// The paper's thresholds lie on a line: 0.99, 0.66 and 0.33 for 10, 100 and
// 1000 classes. Never above 0.99 nor below 1.5 times chance.
double threshold_for_classes(int64_t classes);

// What SottaOptions::kAutoConfidence means: the confidence that the source
// model reaches on four fifths of the source images or, without images,
// threshold_for_classes().
double automatic_threshold(const MethodContext& context);

}  // namespace sotta
