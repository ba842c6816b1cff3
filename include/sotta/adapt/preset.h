#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sotta {

// Named sets of options. `clean` is each method as its paper intends it;
// `paper` has the quirks of the code that made SoTTA's published tables.
enum class Preset { kClean, kPaper };

std::vector<std::string> preset_names();

// Throws Error(kInvalid) for an unknown name.
Preset parse_preset(const std::string& name);

// SoTTA's published code meant to train without weight decay but kept that of
// the source training on CIFAR: 5e-4 up to 100 classes under `paper`, else 0.
double weight_decay_of(Preset preset, int64_t classes);

// The learning rates of the published code have a column for CIFAR and one for
// ImageNet; the number of classes says which: ImageNet's above 100.
bool has_imagenet_size(int64_t classes);

// The entropy below which EATA and SAR call a prediction reliable: 0.4 ln K.
double entropy_margin_of(int64_t classes);

}  // namespace sotta
