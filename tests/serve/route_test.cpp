#include "serve/access/route.h"

#include <set>

#include <gtest/gtest.h>

#include "serve/http/target.h"
#include "tests/serve/small_service.h"

namespace sotta {
namespace {

RouteMatch match(const std::string& method, const std::string& target) {
  return match_route(method, parse_target(target).path);
}

std::string filled(std::string path) {
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"{model}", "m"}, {"{stream}", "a"}})
    if (const size_t at = path.find(from); at != std::string::npos)
      path.replace(at, from.size(), to);
  return path;
}

TEST(Route, NamesInThePathAreFoundWithAndWithoutAVersion) {
  for (const std::string version : {"", "/versions/1"}) {
    const auto found =
        match("GET", "/v2/models/m%2Fn" + version + "/streams/a%2Fb/state");

    ASSERT_NE(found.route, nullptr);
    EXPECT_EQ(found.route->scope, Scope::kAdmin);
    EXPECT_EQ(found.model, "m/n");
    EXPECT_EQ(found.stream, "a/b");
  }
}

TEST(Route, APathOfAnotherMethodSaysWhichItHas) {
  EXPECT_EQ(match("POST", "/v2").methods, "GET");
  EXPECT_EQ(match("POST", "/v2/models/m/streams/a").methods,
            "GET or PUT or DELETE");
  EXPECT_EQ(match("POST", "/v2/models/stats").methods, "GET");
  EXPECT_EQ(match("POST", "/v2/models/m/streams/a").allowed,
            "GET, HEAD, PUT, DELETE");
  for (const char* path : {"/", "/v3", "/v2/models", "/v2/models/m/streams/a/x",
                           "/v2/models/m/streams/a/norm/x"}) {
    EXPECT_EQ(match("GET", path).route, nullptr) << path;
    EXPECT_EQ(match("GET", path).methods, "") << path;
  }
}

TEST(Route, NoneStandsInTheTableTwice) {
  std::set<std::string> seen;
  for (const Route& route : routes())
    EXPECT_TRUE(
        seen.insert(std::string(route.method) + " " + route.path).second)
        << route.path;
}

// The other way round, the service refuses what is not in the table.
TEST(Route, EveryOneInTheTableIsAnsweredByTheService) {
  for (const Route& route : routes()) {
    testing::SmallService small;
    small.send("PUT", "/v2/models/m/streams/a");

    const HttpResponse response = small.send(route.method, filled(route.path));

    const std::string name = std::string(route.method) + " " + route.path;
    EXPECT_NE(response.status, 404) << name << ": " << response.body;
    EXPECT_NE(response.status, 405) << name << ": " << response.body;
  }
}

TEST(Route, WhatChangesAStreamNeedsMoreThanInferAndImagesNeedAdmin) {
  for (const Route& route : routes()) {
    const std::string path = route.path, method = route.method;
    const bool asks = method == "GET" || path.find("/infer") != path.npos ||
                      path == "/v2/repository/index";
    EXPECT_TRUE(asks || route.scope >= Scope::kControl) << path;
    const bool has_images = path.find("/state") != path.npos;
    EXPECT_TRUE(!has_images || route.scope == Scope::kAdmin) << path;
  }
}

}  // namespace
}  // namespace sotta
