#include "serve/http/request_headers.h"

#include <gtest/gtest.h>

#include "tests/serve/expect_refusal.h"

namespace sotta {
namespace {

using testing::expect_refusal;

TEST(RequestHeaders, NamesAreInLowerCaseAndValuesAsTheyAre) {
  RequestHeaders headers;

  add_header(headers, "Sotta-Stream", "Camera");

  EXPECT_EQ(headers.at("sotta-stream"), "Camera");
}

TEST(RequestHeaders, AFieldThatIsThereTwiceHasBothValues) {
  RequestHeaders headers;

  add_header(headers, "Inference-Header-Content-Length", "");
  add_header(headers, "inference-header-content-length", "7");

  EXPECT_EQ(headers.at("inference-header-content-length"), ", 7");
}

// Both together would be the name of a third.
TEST(RequestHeaders, TwoStreamsAreNotOneWithACommaInItsName) {
  RequestHeaders headers;
  add_header(headers, "Sotta-Stream", "a, b");

  add_header(headers, "sotta-stream", "a, b");

  EXPECT_EQ(headers.at("sotta-stream"), "a, b");
  expect_refusal(HttpStatus::kBadRequest, "Sotta-Stream: expected one name",
                 [&] { add_header(headers, "Sotta-Stream", "c"); });
}

TEST(RequestHeaders, NoTransferCodingButChunkedIsTaken) {
  EXPECT_NO_THROW(check_framing({}));
  EXPECT_NO_THROW(check_framing({{"transfer-encoding", "Chunked"}}));
  for (const std::string coding :
       {"", "identity", "xchunked", "gzip, chunked", "chunked, chunked"})
    expect_refusal(HttpStatus::kBadRequest, "Transfer-Encoding: expected", [&] {
      check_framing({{"transfer-encoding", coding}});
    });
}

TEST(RequestHeaders, NoTransferCodingIsTakenInHttp10) {
  EXPECT_NO_THROW(check_framing({}, /*is_http_1_1=*/false));
  expect_refusal(HttpStatus::kBadRequest, "expected none in a request of", [] {
    check_framing({{"transfer-encoding", "chunked"}}, /*is_http_1_1=*/false);
  });
}

}  // namespace
}  // namespace sotta
