#include "serve/dashboard/dashboard.h"

#include <gtest/gtest.h>

#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using testing::SmallService;

TEST(Dashboard, ThePageAndAllThatItAsksForAreInTheProgram) {
  SmallService small;
  for (const std::string path :
       {"/dashboard", "/dashboard/dashboard.css", "/dashboard/dashboard.js",
        "/dashboard/api.js", "/dashboard/charts.js", "/dashboard/memory.js"}) {
    const HttpResponse file = small.send("GET", path);

    EXPECT_EQ(file.status, 200) << path;
    EXPECT_GT(file.body.size(), 1000u) << path;
    EXPECT_EQ(file.type.rfind("text/", 0), 0u) << path;
  }
  EXPECT_EQ(small.send("GET", "/dashboard/other.js").status, 404);
  EXPECT_EQ(small.send("GET", "/dashboard/../metrics").status, 404);
  EXPECT_EQ(small.send("POST", "/dashboard").status, 405);
}

TEST(Dashboard, NothingIsInlineOrFromElsewhere) {
  const HttpResponse page = *dashboard_file("");

  std::string policy;
  for (const auto& [name, value] : page.headers)
    if (name == "Content-Security-Policy") policy = value;
  EXPECT_EQ(policy.rfind("default-src 'none'", 0), 0u) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
  for (const std::string part : {"http://", "https://", "style=", "onclick"})
    EXPECT_EQ(page.body.find(part), std::string::npos) << part;
}

TEST(Dashboard, SaysThatAccuracyIsNotKnown) {
  EXPECT_NE(dashboard_file("")->body.find("Accuracy is not known"),
            std::string::npos);
}

}  // namespace
}  // namespace sotta
