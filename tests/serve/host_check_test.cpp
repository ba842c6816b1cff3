#include "serve/access/host_check.h"

#include <gtest/gtest.h>

#include "tests/serve/expect_refusal.h"
#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using testing::expect_refusal;

void check(const std::string& host, const std::string& origin,
           const HostNames& hosts = {}) {
  HttpRequest request;
  if (!host.empty()) request.headers["host"] = host;
  if (!origin.empty()) request.headers["origin"] = origin;
  check_host(request, hosts);
}

TEST(HostCheck, NamesOfLoopbackAreKnownWithAnyPort) {
  for (const char* host :
       {"localhost", "LocalHost:8000", "127.0.0.1:8000", "127.1.2.3",
        "[::1]:8000", "[::1]", "a.localhost:1", ""})
    EXPECT_NO_THROW(check(host, "")) << host;
}

TEST(HostCheck, ANameThatLeadsHereFromElsewhereIsRefused) {
  for (const char* host :
       {"evil.example", "evil.example:8000", "localhost.evil.example",
        "127.0.0.1.evil.example", "127.evil.example:8000", "192.168.1.1",
        "[::2]:80", "[::1", "notlocalhost", "localhost:80, evil.example",
        "[::1]evil", "localhost:x", "[::1]:x"})
    expect_refusal(HttpStatus::kForbidden, "--allow-host",
                   [&] { check(host, ""); });
}

TEST(HostCheck, NamesThatAreAllowedAreKnownInAnyCase) {
  EXPECT_NO_THROW(check("Gate.Example:80", "", {false, {"gate.example"}}));
  expect_refusal(HttpStatus::kForbidden, "--allow-host", [] {
    check("other", "", {false, {"gate.example"}});
  });
  EXPECT_NO_THROW(check("other", "", {true, {}}));
}

TEST(HostCheck, OnlyPagesOfThisServerMayAsk) {
  EXPECT_NO_THROW(check("localhost:8000", "http://localhost:8000"));
  EXPECT_NO_THROW(check("[::1]:8000", "https://[::1]:8000"));
  for (const char* origin :
       {"http://evil.example", "http://localhost:9000", "null",
        "http://127.0.0.1:8000", "http://localhost:8000.evil.example",
        "localhost:8000"})
    expect_refusal(HttpStatus::kForbidden, "another site",
                   [&] { check("localhost:8000", origin); });
  expect_refusal(HttpStatus::kForbidden, "another site", [] {
    check("x", "http://y", {true, {}});
  });
}

TEST(HostCheck, TheServiceRefusesBeforeAnythingElse) {
  testing::SmallService small;
  for (const char* target : {"/v2", "/v2/models/m", "/no/such"}) {
    EXPECT_EQ(small.send("GET", target, "", {{"host", "evil"}}).status, 403);
    EXPECT_EQ(small.send("GET", target, "", {{"origin", "http://evil"}}).status,
              403);
  }
  EXPECT_EQ(small.send("GET", "/v2", "", {{"host", "localhost"}}).status, 200);
}

}  // namespace
}  // namespace sotta
