#include "data/torch/pickle_opcode.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(PickleOpcode, NamesWhatItRefuses) {
  EXPECT_EQ(opcode_name(PickleOpcode{0x81}), "NEWOBJ (0x81)");
  EXPECT_EQ(opcode_name(PickleOpcode{'i'}), "INST (0x69)");
}

TEST(PickleOpcode, UnknownOnesAreNumbers) {
  EXPECT_EQ(opcode_name(PickleOpcode{0x0f}), "0x0f");
}

}  // namespace
}  // namespace sotta
