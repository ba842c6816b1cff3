#include "serve/streams/stream_trouble.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(StreamTrouble, GraverTroubleRanksHigher) {
  std::vector<StreamStatus> mildest_first(7);
  mildest_first[0].live.confidence_fall = 0.04;  // none
  mildest_first[1].live.admitted_fall = 0.9;
  mildest_first[2].notice = "snapshot 3 is damaged";
  mildest_first[3].live.guard_trips = 1;
  mildest_first[4].frozen = "by request";
  mildest_first[5].frozen = mildest_first[5].problem = "disk full";
  mildest_first[6].unloadable = "all snapshots are damaged";

  EXPECT_EQ(find_trouble(mildest_first[0]).rank, 0);
  for (size_t i = 1; i < mildest_first.size(); ++i) {
    EXPECT_GT(find_trouble(mildest_first[i]).rank,
              find_trouble(mildest_first[i - 1]).rank)
        << i;
    EXPECT_FALSE(find_trouble(mildest_first[i]).reason.empty());
  }
}

TEST(StreamTrouble, MoreTripsAndDeeperFallsRankHigher) {
  StreamStatus one, more;
  one.live.guard_trips = 1;
  more.live.guard_trips = 2;
  EXPECT_GT(find_trouble(more).rank, find_trouble(one).rank);

  StreamStatus shallow, deep;
  shallow.live.confidence_fall = 0.1;
  deep.live.confidence_fall = 0.2;
  EXPECT_GT(find_trouble(deep).rank, find_trouble(shallow).rank);
  EXPECT_EQ(find_trouble(deep).reason, "confidence falls");
}

}  // namespace
}  // namespace sotta
