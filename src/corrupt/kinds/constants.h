#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "corrupt/kinds/kind.h"

namespace sotta {

constexpr size_t kMaxConstants = 7;
using Constants = std::array<double, kMaxConstants>;

// The published constants of a kind at the setting's severity, in the order
// that the table in constants.cpp gives; zeros after the last one.
Constants severity_constants(const std::string& kind,
                             const KindSetting& setting);

}  // namespace sotta
