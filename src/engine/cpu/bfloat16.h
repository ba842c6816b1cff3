#pragma once

#include <cstdint>

namespace sotta::engine {

// The upper half of a float's bits: its range, with 8 bits of precision.
struct Bfloat16 {
  uint16_t bits = 0;
};

// What the operands of a GEMM are rounded to; products and sums are floats.
enum class OperandType { kFloat, kBfloat16 };

}  // namespace sotta::engine
