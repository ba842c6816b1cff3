#include "corrupt/frost/frost_photographs.h"

#include <cmath>

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "data/formats/npy.h"
#include "data/tensor.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

// A picture whose channels have these means to a pixel's share: two levels.
at::Tensor picture_with_mean(int64_t height, int64_t width,
                             const std::array<double, 3>& mean) {
  at::Tensor picture = at::empty({height, width, 3}, at::kByte);
  for (size_t c = 0; c < 3; ++c) {
    const double base = std::floor(mean[c]);
    const auto brighter = static_cast<int64_t>(
        (mean[c] - base) * static_cast<double>(height * width));
    at::Tensor channel = at::empty({height * width}, at::kByte);
    channel.fill_(base);
    channel.narrow(0, 0, brighter).fill_(base + 1);
    picture.select(2, static_cast<int64_t>(c))
        .copy_(channel.view({height, width}));
  }
  return picture;
}

void write_photographs(const std::filesystem::path& folder) {
  const auto write = [&](int number, const at::Tensor& picture) {
    write_npy(folder / ("frost" + std::to_string(number) + ".npy"),
              to_array(picture));
  };
  const auto white = picture_with_mean(315, 560, {200.793, 205.377, 214.482});
  write(1, picture_with_mean(600, 900, {77.667, 149.117, 165.736}));
  write(2, white);
  write(3, white);
  write(4, picture_with_mean(350, 527, {137.620, 152.773, 165.176}));
  write(5, picture_with_mean(495, 660, {112.376, 123.368, 134.752}));
}

TEST(FrostPhotographs, ReadsFivePictures) {
  const testing::TempDir folder;
  write_photographs(folder.path());

  const FrostPictures pictures = read_frost_photographs(folder.path());

  EXPECT_EQ(pictures[0].sizes(), (std::vector<int64_t>{600, 900, 3}));
  EXPECT_EQ(pictures[4].sizes(), (std::vector<int64_t>{495, 660, 3}));
}

TEST(FrostPhotographs, MissingOneIsNotFound) {
  const testing::TempDir folder;
  write_photographs(folder.path());
  std::filesystem::remove(folder.path() / "frost4.npy");

  testing::expect_error(ErrorKind::kNotFound, "frost4.npy",
                        [&] { read_frost_photographs(folder.path()); });
}

TEST(FrostPhotographs, AnotherSizeIsRefused) {
  const testing::TempDir folder;
  write_photographs(folder.path());
  write_npy(folder.path() / "frost2.npy",
            to_array(picture_with_mean(560, 315, {200.793, 205.377, 214.482})));

  testing::expect_error(ErrorKind::kBadFormat, "[315, 560, 3]",
                        [&] { read_frost_photographs(folder.path()); });
}

TEST(FrostPhotographs, SwappedChannelsAreRefused) {
  const testing::TempDir folder;
  write_photographs(folder.path());
  write_npy(folder.path() / "frost1.npy",
            to_array(picture_with_mean(600, 900, {165.736, 149.117, 77.667})));

  testing::expect_error(ErrorKind::kBadFormat, "not the published photograph",
                        [&] { read_frost_photographs(folder.path()); });
}

}  // namespace
}  // namespace sotta
