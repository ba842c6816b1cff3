#include "serve/http/target.h"

#include <gtest/gtest.h>

#include "tests/serve/expect_refusal.h"

namespace sotta {
namespace {

using Words = std::vector<std::string>;

TEST(Target, IsAPathAndParameters) {
  const Target target =
      parse_target("/v2//models/a%2Fb%20c/?limit=3&after=%3D&x");

  EXPECT_EQ(target.path, (Words{"v2", "models", "a/b c"}));
  EXPECT_EQ(target.query.at("limit"), "3");
  EXPECT_EQ(target.query.at("after"), "=");
  EXPECT_EQ(target.query.at("x"), "");
  EXPECT_TRUE(parse_target("/").path.empty());
}

TEST(Target, DotsMeanNothing) {
  EXPECT_EQ(parse_target("/a/../b").path, (Words{"a", "..", "b"}));
}

TEST(Target, RefusesWhatIsNone) {
  for (const std::string text : {"", "v2", "*", "/%", "/%4", "/%4g", "/%-1",
                                 "/a?b=%x", "/a?b=1&b=2", "http://host/v2"})
    testing::expect_refusal(HttpStatus::kBadRequest, "target: expected",
                            [&] { parse_target(text); });
}

TEST(Target, TheHostOfAnAbsoluteOneCountsForTheHeader) {
  const auto turned = [](const std::string& target) {
    HttpRequest request{"GET", target, {{"host", "other"}}, ""};
    to_origin_form(request);
    return request.header("host") + " " + request.target;
  };

  EXPECT_EQ(turned("http://a:80/v2/models?x=/"), "a:80 /v2/models?x=/");
  EXPECT_EQ(turned("HTTPS://[::1]:8000"), "[::1]:8000 /");
  EXPECT_EQ(turned("http://a?x"), "a /?x");
  for (const std::string target :
       {"/v2", "/http://a/", "*", "", "http:///v2", "http://me@a/", "ftp://a/"})
    EXPECT_EQ(turned(target), "other " + target);
}

}  // namespace
}  // namespace sotta
