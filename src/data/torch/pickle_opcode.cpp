#include "data/torch/pickle_opcode.h"

namespace sotta {
namespace {

struct RefusedOpcode {
  uint8_t code;
  const char* name;
};

constexpr RefusedOpcode kRefused[] = {
    {'0', "POP"},          {'1', "POP_MARK"},
    {'2', "DUP"},          {'F', "FLOAT"},
    {'I', "INT"},          {'L', "LONG"},
    {'P', "PERSID"},       {'S', "STRING"},
    {'V', "UNICODE"},      {'d', "DICT"},
    {'g', "GET"},          {'i', "INST"},
    {'l', "LIST"},         {'o', "OBJ"},
    {'p', "PUT"},          {0x81, "NEWOBJ"},
    {0x82, "EXT1"},        {0x83, "EXT2"},
    {0x84, "EXT4"},        {0x8f, "EMPTY_SET"},
    {0x90, "ADDITEMS"},    {0x91, "FROZENSET"},
    {0x92, "NEWOBJ_EX"},   {0x96, "BYTEARRAY8"},
    {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"}};

std::string hexadecimal(uint8_t byte) {
  const char* digits = "0123456789abcdef";
  return {digits[byte >> 4], digits[byte & 15]};
}

}  // namespace

std::string opcode_name(PickleOpcode opcode) {
  const auto code = static_cast<uint8_t>(opcode);
  const std::string number = "0x" + hexadecimal(code);
  for (const auto& refused : kRefused)
    if (refused.code == code)
      return std::string(refused.name) + " (" + number + ")";
  return number;
}

}  // namespace sotta
