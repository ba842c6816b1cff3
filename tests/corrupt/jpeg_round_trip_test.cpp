#include "corrupt/filters/jpeg_round_trip.h"

#include <ATen/ops/full.h>

#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(JpegRoundTrip, StoresALargeImageAsImageNetCDoes) {
  const testing::Golden golden("corruptions/jpeg_compression");

  const at::Tensor found = JpegRoundTrip(85)(testing::reference_picture());

  testing::expect_same_bytes(testing::reference_sample(found),
                             golden["g224_quality85"], 0);
}

// What Pillow made of the image's upper left part.
TEST(JpegRoundTrip, TakesSidesThatAreNoMultiplesOfSixteen) {
  const testing::Golden golden("corruptions/jpeg_compression");
  const std::pair<int64_t, int64_t> sizes[] = {{28, 28}, {21, 13}};
  for (const auto& size : sizes) {
    const std::string name = "quality40_" + std::to_string(size.first) + "x" +
                             std::to_string(size.second);
    const at::Tensor cut = golden["input"]
                               .narrow(0, 0, 1)
                               .narrow(2, 0, size.first)
                               .narrow(3, 0, size.second);

    const at::Tensor found = JpegRoundTrip(40)(cut)[0];

    SCOPED_TRACE(name);
    testing::expect_same_bytes(found, golden[name], 0);
  }
}

TEST(JpegRoundTrip, KeepsAPlainGreyAtTheBestQuality) {
  const at::Tensor grey = at::full({2, 3, 16, 32}, 77, at::kByte);
  EXPECT_TRUE(JpegRoundTrip(100)(grey).equal(grey));
}

}  // namespace
}  // namespace sotta
