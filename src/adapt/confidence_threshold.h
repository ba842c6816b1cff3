#pragma once

#include <cstdint>

#include "sotta/adapt/method.h"

namespace sotta {

// The paper's thresholds lie on a line: 0.99, 0.66 and 0.33 for 10, 100 and
// 1000 classes. Never above 0.99 nor below 1.5 times chance.
double threshold_for_classes(int64_t classes);

// A threshold that needs no labels: the confidence that the source model
// exceeds on kConfidentShare of the source images, or, without images,
// threshold_for_classes().
double automatic_threshold(const MethodContext& context);

}  // namespace sotta
