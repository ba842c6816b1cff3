#include "nn/affine_view.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "tests/nn/augment_golden.h"

namespace sotta {
namespace {

using testing::close;

TEST(AffineView, NothingToDoGivesTheImagesBack) {
  const at::Tensor images = at::rand({2, 3, 6, 5});
  EXPECT_TRUE(close(affine_view(images, {}, 0), images));
}

TEST(AffineView, MarginRepeatsTheEdge) {
  const at::Tensor images = at::tensor({1.f, 2.f, 3.f, 4.f}).view({1, 1, 2, 2});
  const at::Tensor expected =
      at::tensor({1.f, 1.f, 2.f, 2.f, 1.f, 1.f, 2.f, 2.f,  //
                  3.f, 3.f, 4.f, 4.f, 3.f, 3.f, 4.f, 4.f})
          .view({1, 1, 4, 4});
  EXPECT_TRUE(close(affine_view(images, {}, 1), expected));
}

TEST(AffineView, TranslatesToTheRightAndDown) {
  const at::Tensor images = at::arange(9, at::kFloat).view({1, 1, 3, 3});
  AugmentParameters parameters;
  parameters.translate_x = 1;
  EXPECT_TRUE(close(affine_view(images, parameters, 0)[0][0][1],
                    at::tensor({3.f, 3.f, 4.f})));
  parameters = {};
  parameters.translate_y = 1;
  EXPECT_TRUE(close(affine_view(images, parameters, 0)[0][0][1],
                    at::tensor({0.f, 1.f, 2.f})));
}

TEST(AffineView, TurnsClockwise) {
  const at::Tensor images = at::rand({2, 3, 6, 6});
  AugmentParameters parameters;
  parameters.angle = 90;
  EXPECT_TRUE(close(affine_view(images, parameters, 0),
                    images.rot90(-1, {2, 3}), 1e-5));
}

TEST(AffineView, ScalesAboutTheCentre) {
  // Twice the size: the middle of a ramp, in steps half as large.
  const at::Tensor ramp = at::arange(4, at::kFloat).expand({1, 1, 4, 4});
  AugmentParameters parameters;
  parameters.scale = 2;
  EXPECT_TRUE(close(affine_view(ramp, parameters, 0)[0][0][0],
                    at::tensor({0.75f, 1.25f, 1.75f, 2.25f})));
}

TEST(AffineView, ImagesNeedNotBeSquare) {
  // A quarter turn of a wide image about its centre, seen through the same
  // frame: the middle square is turned.
  const at::Tensor images = at::rand({1, 1, 4, 8});
  AugmentParameters parameters;
  parameters.angle = 90;
  const at::Tensor view = affine_view(images, parameters, 0);
  EXPECT_TRUE(close(view.narrow(3, 2, 4),
                    images.narrow(3, 2, 4).rot90(-1, {2, 3}), 1e-5));
}

// The golden pads by half the image first and has zeros further out; they do
// not reach the part that is cropped in the end.
TEST(AffineView, EqualsPyTorch) {
  const testing::Golden golden("nn/augment");
  const auto views = testing::golden_views(golden);
  for (size_t view = 0; view < views.size(); ++view) {
    const at::Tensor images = golden[testing::stage(view, "colour4")];
    const at::Tensor expected = golden[testing::stage(view, "affine")];
    EXPECT_TRUE(close(affine_view(images, views[view], 0),
                      testing::inside(expected, 4), 3e-6, 0))
        << "view " << view;
  }
}

}  // namespace
}  // namespace sotta
