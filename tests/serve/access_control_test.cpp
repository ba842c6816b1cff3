#include "serve/access/access_control.h"

#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sotta/core/error.h"

#include "tests/serve/expect_refusal.h"
#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using testing::expect_refusal;
using testing::SmallService;

Token token(const std::string& secret, Scope scope,
            std::vector<std::string> streams = {},
            std::vector<std::string> models = {}) {
  return {secret, sha256(secret), scope, std::move(streams), std::move(models)};
}

// Without OpenSSL there are no tokens.
class AccessControlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      sha256("");
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  static HttpRequest request(const std::string& method,
                             const std::string& target,
                             const std::string& authorization) {
    HttpRequest request{method, target, {}, ""};
    if (!authorization.empty())
      request.headers["authorization"] = authorization;
    return request;
  }

  static std::string admit(const AccessControl& access,
                           const std::string& target,
                           const std::string& authorization,
                           const std::string& method = "GET") {
    return access
        .admit(request(method, target, authorization), parse_target(target))
        ->name;
  }
};

TEST_F(AccessControlTest, WithoutTokensAnyoneMayDoAnything) {
  const AccessControl access;

  EXPECT_EQ(admit(access, "/v2/models/m/streams/a/state", "", "PUT"), "");
}

TEST_F(AccessControlTest, WhoeverHoldsATokenIsKnownByItsName) {
  const AccessControl access(
      {token("one", Scope::kInfer), token("two", Scope::kAdmin)});

  EXPECT_EQ(admit(access, "/v2/models/m", "Bearer one"), "one");
  EXPECT_EQ(admit(access, "/v2/models/m", "bearer two"), "two");
}

TEST_F(AccessControlTest, WithoutAKnownTokenOnlyHealthIsTold) {
  const AccessControl access({token("one", Scope::kAdmin)});

  for (const char* open : {"/v2", "/v2/health/live", "/v2/health/ready"})
    EXPECT_EQ(admit(access, open, ""), "");
  for (const char* closed :
       {"/v2/models/m", "/metrics", "/v2/models/m/streams", "/v2/no/such"})
    for (const char* header : {"", "one", "Basic b25l", "Bearer", "Bearer ",
                               "Bearer on", "Bearer one ", "Bearer One"})
      expect_refusal(HttpStatus::kUnauthorized, "token",
                     [&] { admit(access, closed, header); });
  expect_refusal(HttpStatus::kUnauthorized, "token",
                 [&] { admit(access, "/v2/models/m?token=one", ""); });
}

TEST_F(AccessControlTest, AScopeReachesSoFarAndNoFurther) {
  const AccessControl access(
      {token("i", Scope::kInfer), token("c", Scope::kControl)});
  const std::string stream = "/v2/models/m/streams/a";

  EXPECT_EQ(admit(access, stream, "Bearer i"), "i");
  EXPECT_EQ(admit(access, stream + "/freeze", "Bearer c", "POST"), "c");
  expect_refusal(HttpStatus::kForbidden, "scope control", [&] {
    admit(access, stream + "/freeze", "Bearer i", "POST");
  });
  expect_refusal(HttpStatus::kForbidden, "scope admin",
                 [&] { admit(access, stream + "/state", "Bearer c"); });
  expect_refusal(HttpStatus::kForbidden, "scope admin", [&] {
    admit(access, "/v2/repository/models/m/unload", "Bearer c", "POST");
  });
}

TEST_F(AccessControlTest, SumsOverAllStreamsAreNotForTokensOfSome) {
  const AccessControl access({token("all", Scope::kInfer),
                              token("some", Scope::kAdmin, {"x"}),
                              token("m", Scope::kInfer, {}, {"m"})});

  EXPECT_EQ(admit(access, "/metrics", "Bearer all"), "all");
  EXPECT_EQ(admit(access, "/v2/models/m/stats", "Bearer m"), "m");
  for (const char* path :
       {"/metrics", "/v2/models/stats", "/v2/models/m/stats"})
    expect_refusal(HttpStatus::kForbidden, "all streams",
                   [&] { admit(access, path, "Bearer some"); });
  for (const char* path : {"/metrics", "/v2/models/stats"})
    expect_refusal(HttpStatus::kForbidden, "all streams",
                   [&] { admit(access, path, "Bearer m"); });
}

TEST_F(AccessControlTest, AModelIsNotForTokensOfSomeStreamsToUnload) {
  const AccessControl access({token("some", Scope::kAdmin, {"x"}),
                              token("m", Scope::kAdmin, {}, {"m"})});

  for (const std::string what : {"load", "unload"}) {
    const std::string path = "/v2/repository/models/m/" + what;
    EXPECT_EQ(admit(access, path, "Bearer m", "POST"), "m");
    expect_refusal(HttpStatus::kForbidden, "all streams",
                   [&] { admit(access, path, "Bearer some", "POST"); });
  }
}

TEST_F(AccessControlTest, TokensAreReplacedWhileOthersAsk) {
  AccessControl access({token("one", Scope::kInfer)});
  std::thread other([&] {
    for (int i = 0; i < 200; ++i)
      access.replace({token("one", Scope::kInfer)});
  });
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(admit(access, "/v2/models/m", "Bearer one"), "one");
  other.join();

  access.replace({token("two", Scope::kInfer)});

  expect_refusal(HttpStatus::kUnauthorized, "not known",
                 [&] { admit(access, "/v2/models/m", "Bearer one"); });
}

// The same through the service.

class ServiceAccess : public AccessControlTest {
 protected:
  void SetUp() override {
    AccessControlTest::SetUp();
    if (IsSkipped()) return;
    ServiceOptions options;
    options.access = std::make_shared<AccessControl>(std::vector<Token>{
        token("gate", Scope::kInfer, {"gate-"}), token("root", Scope::kAdmin),
        token("elsewhere", Scope::kAdmin, {}, {"n"})});
    small = std::make_unique<SmallService>(testing::small_model(), options);
  }

  static std::map<std::string, std::string> as(const std::string& secret) {
    return {{"authorization", "Bearer " + secret}};
  }
  HttpResponse infer(const std::string& secret, const std::string& parameters,
                     const std::string& target = "/v2/models/m/infer") {
    return small->infer(0, 2, parameters, target, as(secret));
  }
  HttpResponse get(const std::string& secret, const std::string& target) {
    return small->send("GET", target, "", as(secret));
  }

  std::unique_ptr<SmallService> small;
};

TEST_F(ServiceAccess, NoTokenGetsAChallenge) {
  const HttpResponse response = small->send("GET", "/v2/models/m");

  EXPECT_EQ(response.status, 401);
  const std::pair<std::string, std::string> challenge = {
      "WWW-Authenticate", "Bearer realm=\"sotta\""};
  EXPECT_EQ(response.headers.at(0), challenge);
}

TEST_F(ServiceAccess, AStreamOfAnotherNameIsRefusedWhereverItIsNamed) {
  EXPECT_EQ(infer("gate", R"("sequence_id":"gate-1")").status, 200);
  EXPECT_EQ(infer("gate", "").status, 200);  // the source model
  EXPECT_EQ(infer("gate", R"("sequence_id":"other")").status, 403);
  EXPECT_EQ(infer("gate", "", "/v2/models/m/streams/other/infer").status, 403);
  auto headers = as("gate");
  headers["sotta-stream"] = "other";
  EXPECT_EQ(small->infer(0, 2, "", "/v2/models/m/infer", headers).status, 403);
  EXPECT_EQ(get("root", "/v2/models/m/streams/other").status, 404);
}

TEST_F(ServiceAccess, StreamsOfOthersCannotBeToldFromNone) {
  infer("root", R"("sequence_id":"other")");
  infer("root", R"("sequence_id":"gate-1")");

  EXPECT_EQ(get("gate", "/v2/models/m/streams/other").body,
            get("gate", "/v2/models/m/streams/none").body);
  EXPECT_EQ(get("gate", "/v2/models/n").body, get("gate", "/v2/models/x").body);
  EXPECT_EQ(get("elsewhere", "/v2/models/m").body,
            get("elsewhere", "/v2/models/x").body);
  const auto listed =
      nlohmann::json::parse(get("gate", "/v2/models/m/streams?limit=1").body);
  ASSERT_EQ(listed["streams"].size(), 1U);
  EXPECT_EQ(listed["streams"][0]["name"], "gate-1");
  EXPECT_FALSE(listed.contains("next"));
  EXPECT_EQ(
      small->send("POST", "/v2/repository/index", "", as("elsewhere")).body,
      "[]");
}

TEST_F(ServiceAccess, ResetInARequestNeedsControlToo) {
  const std::string reset = R"("sequence_id":"gate-1","reset":true)";

  EXPECT_EQ(infer("gate", reset).status, 403);
  EXPECT_EQ(infer("root", reset).status, 200);
}

TEST_F(ServiceAccess, TokensInTargetsAreNotTaken) {
  EXPECT_EQ(small->send("GET", "/v2/models/m?token=root").status, 401);
  EXPECT_EQ(small->send("GET", "/v2/models/m?access_token=root").status, 401);
}

}  // namespace
}  // namespace sotta
