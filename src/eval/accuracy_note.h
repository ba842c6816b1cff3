#pragma once

#include <string>

namespace sotta {

// What a progress bar says beside its count: "accuracy 81.25 %".
std::string accuracy_note(double accuracy);

}  // namespace sotta
