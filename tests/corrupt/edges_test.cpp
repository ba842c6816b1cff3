#include "corrupt/filters/edges.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(CannyEdges, FindsTheBorderOfASquare) {
  const at::Tensor picture = at::zeros({1, 16, 16}, at::kInt);
  picture.slice(1, 4, 12).slice(2, 4, 12).fill_(200);

  const at::Tensor edges = canny_edges(picture, 50, 150)[0];

  EXPECT_TRUE(edges[8].slice(0, 3, 5).any().item<bool>());
  EXPECT_TRUE(edges[8].slice(0, 11, 13).any().item<bool>());
  EXPECT_FALSE(edges.slice(0, 6, 10).slice(1, 6, 10).any().item<bool>());
  EXPECT_FALSE(edges.slice(0, 0, 3).any().item<bool>());
}

TEST(CannyEdges, AWeakEdgeCountsOnlyIfItTouchesAStrongOne) {
  // A step down the middle: its gradient is 4 times its height.
  const at::Tensor pictures = at::zeros({2, 40, 9}, at::kInt);
  pictures.slice(2, 5, 9).fill_(20);                     // 80: weak
  pictures[1].slice(0, 0, 3).slice(1, 5, 9).fill_(100);  // strong at the top

  const at::Tensor edges = canny_edges(pictures, 50, 150);

  EXPECT_FALSE(edges[0].any().item<bool>());
  EXPECT_TRUE(edges[1][39].any().item<bool>());
}

TEST(CannyEdges, AFaintStepIsNone) {
  const at::Tensor picture = at::zeros({1, 8, 8}, at::kInt);
  picture.slice(2, 4, 8).fill_(12);  // gradient 48

  EXPECT_FALSE(canny_edges(picture, 50, 10).any().item<bool>());
}

TEST(ChamferDistance, CountsStepsToTheNearestEdge) {
  const at::Tensor edges = at::zeros({1, 30, 30}, at::kBool);
  edges[0][2][3] = true;

  const at::Tensor distance = chamfer_distance(edges, 20 * 65536)[0];

  EXPECT_EQ(distance[2][3].item<int>(), 0);
  EXPECT_EQ(distance[2][8].item<int>(), 5 * 65536);
  EXPECT_EQ(distance[4][5].item<int>(), 2 * 91750);
  EXPECT_EQ(distance[8][15].item<int>(), 6 * 143976);
  EXPECT_EQ(distance[3][7].item<int>(), 143976 + 2 * 65536);
  EXPECT_EQ(distance[29][29].item<int>(), 20 * 65536);
}

TEST(ChamferDistance, IsTheLimitWithoutEdges) {
  const at::Tensor distance =
      chamfer_distance(at::zeros({1, 5, 7}, at::kBool), 99);

  EXPECT_TRUE((distance == 99).all().item<bool>());
}

}  // namespace
}  // namespace sotta
