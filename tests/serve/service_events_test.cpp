#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using Json = nlohmann::json;
using testing::kSmallWindow;
using testing::SmallService;

// Waits for what a stream does after its answers.
void settle(SmallService& small, const std::string& stream) {
  small.send("GET", "/v2/models/m/streams/" + stream + "/norm");
}

TEST(ServiceEvents, AStreamsEventsAreItsOwnAndAModelsAreAll) {
  SmallService small;
  for (const std::string name : {"a", "b"})
    small.send("PUT", "/v2/models/m/streams/" + name);
  const HttpResponse one = small.send("GET", "/v2/models/m/streams/a/events");
  const HttpResponse all = small.send("GET", "/v2/models/m/events");
  ASSERT_EQ(one.status, 200);
  EXPECT_EQ(one.type, "text/event-stream");

  small.infer(0, kSmallWindow, R"("sequence_id":"a")");
  settle(small, "a");
  small.send("POST", "/v2/models/m/streams/b/freeze");

  const std::string own = one.events->take();
  EXPECT_EQ(own.find("event: window\ndata: {\"stream\":\"a\",\"number\":0"), 0u)
      << own;
  EXPECT_EQ(own.find("freeze"), std::string::npos);
  EXPECT_NE(all.events->take().find(
                "event: freeze\ndata: {\"stream\":\"b\",\"detail\":\"\"}"),
            std::string::npos);
}

TEST(ServiceEvents, UnknownStreamsOtherMethodsAndTooManyListenersAreRefused) {
  SmallService small;

  EXPECT_EQ(small.send("GET", "/v2/models/m/streams/no/events").status, 404);
  EXPECT_EQ(small.send("GET", "/v2/models/no/events").status, 404);
  EXPECT_EQ(small.send("POST", "/v2/models/m/events").status, 405);
  EXPECT_EQ(small.send("POST", "/v2/models/m/streams/a/events").status, 405);
  std::vector<HttpResponse> listeners;
  for (size_t i = 0; i < EventHub::Limits().listeners; ++i)
    listeners.push_back(small.send("GET", "/v2/models/m/events"));
  EXPECT_EQ(small.send("GET", "/v2/models/m/events").status, 429);
  listeners.clear();
  EXPECT_EQ(small.send("GET", "/v2/models/m/events").status, 200);
}

TEST(ServiceEvents, StatusHasLiveFiguresAndTheListASummary) {
  SmallService small;
  for (int i = 0; i < 2; ++i)
    small.infer(i * kSmallWindow, kSmallWindow, R"("sequence_id":"a")");
  settle(small, "a");

  const Json status =
      Json::parse(small.send("GET", "/v2/models/m/streams/a").body);
  const Json list =
      Json::parse(small.send("GET", "/v2/models/m/streams?order=trouble").body);

  EXPECT_EQ(status["live"]["recent"].size(), 2u);
  EXPECT_EQ(status["live"]["source"]["images"], kSmallWindow);
  EXPECT_EQ(list["total"], 1);
  EXPECT_EQ(list["streams"][0]["live"]["windows"], 2);
  EXPECT_FALSE(list["streams"][0]["live"].contains("recent"));
}

TEST(ServiceEvents, ParametersOfTheListAreChecked) {
  SmallService small;
  const std::string list = "/v2/models/m/streams?";

  EXPECT_EQ(
      small.send("GET", list + "order=trouble&contains=x&offset=3&limit=5")
          .status,
      200);
  for (const std::string wrong :
       {"order=age", "order=trouble&offset=-1", "order=trouble&after=a",
        "offset=1", "contains=x", "order=trouble&limit=0", "x=1"})
    EXPECT_EQ(small.send("GET", list + wrong).status, 400) << wrong;
}

}  // namespace
}  // namespace sotta
