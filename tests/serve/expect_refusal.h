#pragma once

#include <string>

#include <gtest/gtest.h>

#include "serve/request_error.h"

namespace sotta::testing {

// Expects `action` to throw a RequestError of this status whose one sentence
// contains `part`.
template <class Action>
void expect_refusal(HttpStatus status, const std::string& part, Action action) {
  try {
    action();
    ADD_FAILURE() << "expected a refusal about: " << part;
  } catch (const RequestError& error) {
    const std::string sentence = error.what();
    EXPECT_EQ(error.status(), status) << sentence;
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  }
}

}  // namespace sotta::testing
