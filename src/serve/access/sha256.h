#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace sotta {

using Sha256 = std::array<unsigned char, 32>;

// Throws Error(kUnsupported) if this build has no OpenSSL.
Sha256 sha256(const std::string& bytes);

// Takes equally long wherever they differ.
bool equal_in_constant_time(const Sha256& a, const Sha256& b);

}  // namespace sotta
