#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sotta/core/error.h"
#include "sotta/data/array.h"

namespace sotta {

// The fuzzer's input without an owner, for parsers that share memory.
inline std::shared_ptr<const std::byte> borrow(const uint8_t* data) {
  return {std::shared_ptr<void>(), reinterpret_cast<const std::byte*>(data)};
}

// Reads every byte of the array, so that the sanitizer sees one that does not
// lie where it should.
inline void touch(const Array& array) {
  volatile std::byte sum{};
  for (int64_t i = 0; i < array.bytes(); ++i)
    sum = sum ^ array.data.get()[i];
}

// Runs a parser on the input. An Error is what bad input should give; anything
// else that leaves the parser ends the program and is a finding.
template <class Parse>
int expect_only_errors(Parse parse) {
  try {
    parse();
  } catch (const Error&) {
  }
  return 0;
}

}  // namespace sotta
