#pragma once

#include <string>

#include <gtest/gtest.h>

#include "sotta/core/error.h"

namespace sotta::testing {

// Expects `action` to throw an Error of this kind whose message contains
// `part`.
template <class Action>
void expect_error(ErrorKind kind, const std::string& part, Action action) {
  try {
    action();
    ADD_FAILURE() << "expected an error about: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << error.what();
  }
}

}  // namespace sotta::testing
