#include "serve/http/openapi.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using Json = nlohmann::json;
using testing::SmallService;

// "/v2/models/{model}/ready" as a request has it.
std::string filled(std::string path) {
  for (const auto& [name, value] :
       {std::pair<std::string, std::string>{"{model}", "m"},
        {"{version}", "1"},
        {"{stream}", "a"}}) {
    const size_t at = path.find(name);
    if (at != std::string::npos) path.replace(at, name.size(), value);
  }
  return path;
}

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char letter) { return static_cast<char>(letter - 32); });
  return text;
}

bool is_no_route(const HttpResponse& response) {
  return response.status == 405 ||
         response.body.rfind(R"({"error":"target: )", 0) == 0;
}

TEST(Openapi, WhatItListsAreRoutesAndNothingElseIsAtTheirPaths) {
  SmallService small;
  const Json document = Json::parse(openapi_document());

  for (const auto& [path, operations] : document["paths"].items())
    for (const std::string method : {"get", "put", "post", "delete"}) {
      const HttpResponse response =
          small.send(upper_case(method), filled(path));
      EXPECT_EQ(is_no_route(response), !operations.contains(method))
          << method << " " << path << ": " << response.body;
    }
}

TEST(Openapi, ReferencesLeadSomewhere) {
  const Json document = Json::parse(openapi_document());
  const Json flat = document.flatten();

  for (const auto& [place, value] : flat.items())
    if (place.size() > 5 && place.substr(place.size() - 5) == "/$ref") {
      const auto reference = value.get<std::string>();
      ASSERT_EQ(reference[0], '#') << place;
      EXPECT_TRUE(document.contains(Json::json_pointer(reference.substr(1))))
          << reference;
    }
}

TEST(Openapi, TheServerGivesIt) {
  SmallService small;

  const HttpResponse response = small.send("GET", "/openapi.json");

  EXPECT_EQ(response.type, "application/json");
  EXPECT_TRUE(response.body == openapi_document());
}

}  // namespace
}  // namespace sotta
