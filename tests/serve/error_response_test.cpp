#include "serve/http/error_response.h"

#include <filesystem>
#include <new>
#include <stdexcept>

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "serve/request_error.h"

namespace sotta {
namespace {

template <class Problem>
HttpResponse response_to(const Problem& problem) {
  return error_response(std::make_exception_ptr(problem));
}

int status_of(ErrorKind kind) {
  return response_to(Error(kind, "subject: problem")).status;
}

TEST(ErrorResponse, ARefusalKeepsItsStatusAndSentence) {
  const HttpResponse response =
      response_to(RequestError(HttpStatus::kConflict, "seq", "expected 3"));

  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(response.type, "application/json");
  EXPECT_EQ(response.body, R"({"error":"seq: expected 3"})");
}

TEST(ErrorResponse, FoldersOfTheServerAreItsOwnAffair) {
  EXPECT_EQ(
      response_to(Error(ErrorKind::kBadFormat, "/srv/a/1.journal: cut")).body,
      R"({"error":"1.journal: cut"})");
}

TEST(ErrorResponse, WhatTheClientCausedIsNotOurFault) {
  EXPECT_EQ(status_of(ErrorKind::kInvalid), 400);
  EXPECT_EQ(status_of(ErrorKind::kUnsupported), 400);
  EXPECT_EQ(status_of(ErrorKind::kNotFound), 404);
  const HttpResponse network =
      response_to(c10::Error({"f", "file", 1}, "sizes do not match"));
  EXPECT_EQ(network.status, 400);
  EXPECT_NE(network.body.find("the network does not take them"),
            std::string::npos);
}

TEST(ErrorResponse, DiskAndMemoryAreUnavailable) {
  EXPECT_EQ(status_of(ErrorKind::kIo), 503);
  EXPECT_EQ(status_of(ErrorKind::kBadFormat), 503);
  EXPECT_EQ(response_to(std::bad_alloc()).status, 503);
  EXPECT_EQ(response_to(std::filesystem::filesystem_error(
                            "x", std::make_error_code(std::errc::io_error)))
                .status,
            503);
}

TEST(ErrorResponse, TheRestIsABugOfOurs) {
  EXPECT_EQ(response_to(std::logic_error("oops")).status, 500);
  EXPECT_EQ(response_to(7).status, 500);
}

TEST(ErrorResponse, TooManySaysWhenToComeBack) {
  const HttpResponse response =
      response_to(RequestError(HttpStatus::kTooMany, "server", "busy"));

  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0].first, "Retry-After");
}

}  // namespace
}  // namespace sotta
