#include "serve/http/event_hub.h"

#include <atomic>
#include <thread>

#include "tests/serve/expect_refusal.h"

namespace sotta {
namespace {

std::function<std::string()> text(const std::string& what) {
  return [what] { return what; };
}

TEST(EventHub, ListenersGetTheStreamTheyAskedForOrAll) {
  EventHub hub;
  const auto one = hub.listen("a");
  const auto all = hub.listen("");

  hub.publish("a", text("1"));
  hub.publish("b", text("2"));

  EXPECT_EQ(one->take(), "1");
  EXPECT_EQ(all->take(), "12");
  EXPECT_EQ(all->take(), "");
}

TEST(EventHub, NothingIsWrittenWhereNobodyListens) {
  EventHub hub;
  hub.listen("a").reset();

  hub.publish("a", []() -> std::string {
    ADD_FAILURE() << "asked for a text";
    return "";
  });

  EXPECT_EQ(hub.listeners(), 0u);
}

TEST(EventHub, ASlowListenerLosesEventsAndIsToldHowMany) {
  EventHub hub({64, 10});
  const auto slow = hub.listen("");

  for (int i = 0; i < 5; ++i)
    hub.publish("a", text("12345"));

  EXPECT_EQ(slow->take(), "1234512345event: lagged\ndata: {\"lost\":3}\n\n");
  hub.publish("a", text("6"));
  EXPECT_EQ(slow->take(), "6");
}

TEST(EventHub, ListenersAreLimitedAndMakeRoomWhenTheyGo) {
  EventHub hub({2, 100});
  auto first = hub.listen("");
  const auto second = hub.listen("a");

  testing::expect_refusal(HttpStatus::kTooMany, "at most 2 listeners",
                          [&] { hub.listen("b"); });
  first.reset();
  EXPECT_NE(hub.listen("b"), nullptr);
}

TEST(EventHub, WhoWaitsIsWokenByNewsAndByTheEnd) {
  auto hub = std::make_unique<EventHub>();
  const auto listener = hub->listen("");
  int woken = 0;
  listener->on_news([&] { ++woken; });
  hub->publish("a", text("x"));
  EXPECT_EQ(woken, 1);

  hub.reset();

  EXPECT_EQ(woken, 2);
  EXPECT_FALSE(listener->ended());  // there is still something to take
  EXPECT_EQ(listener->take(), "x");
  EXPECT_TRUE(listener->ended());
}

TEST(EventHub, NoEventIsLostOrDoubledBetweenThreads) {
  EventHub hub({64, 1 << 20});
  const auto listener = hub.listen("");
  std::vector<std::thread> publishers;
  for (int i = 0; i < 4; ++i)
    publishers.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) {
        hub.publish("a", text("x"));
        hub.listen("b").reset();
      }
    });
  std::atomic<bool> done{false};
  size_t taken = 0;
  std::thread reader([&] {
    while (!done)
      taken += listener->take().size();
    taken += listener->take().size();
  });

  for (std::thread& publisher : publishers)
    publisher.join();
  done = true;
  reader.join();

  EXPECT_EQ(taken, 4000u);
}

}  // namespace
}  // namespace sotta
