#include "data/images/resize.h"

#include <cstring>
#include <filesystem>
#include <utility>

#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/data/image.h"

#include "tests/support/golden_dir.h"

namespace sotta {
namespace {

// Expected values are PNG files; a build without libpng cannot read them.
class ResizeGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      golden("wide_rgb.png");
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      GTEST_SKIP() << error.what();
    }
  }

  static Array golden(const std::string& name) {
    return decode_image(std::filesystem::path(testing::golden_dir()) /
                        "images" / name);
  }

  static void expect_same(const Array& found, const std::string& name) {
    const Array expected = golden(name);
    ASSERT_EQ(found.shape, expected.shape) << name;
    EXPECT_EQ(0, std::memcmp(found.data.get(), expected.data.get(),
                             static_cast<size_t>(found.bytes())))
        << name;
  }
};

Array ramp(std::vector<int64_t> shape) {
  auto [image, memory] = allocate_array(ElementType::kUint8, std::move(shape));
  for (int64_t i = 0; i < image.count(); ++i)
    memory[i] = static_cast<std::byte>(i);
  return image;
}

TEST_F(ResizeGolden, EqualsPillowByteForByte) {
  const Array photo = golden("photo_rgb.png");
  for (const auto& [height, width] :
       {std::pair{20, 31}, {53, 30}, {101, 75}, {80, 160}, {7, 200}, {1, 1}})
    expect_same(resize_bilinear(photo, height, width),
                "resized_" + std::to_string(height) + "x" +
                    std::to_string(width) + ".png");
}

TEST_F(ResizeGolden, ShorterSideAndCropEqualTorchvision) {
  const Array wide = golden("wide_rgb.png");
  for (const auto& [size, crop] : {std::pair{24, 21}, {40, 33}}) {
    const Array resized = resize_shorter_side(wide, size);
    expect_same(resized, "shorter_" + std::to_string(size) + ".png");
    expect_same(center_crop(resized, crop, crop),
                "crop_" + std::to_string(crop) + ".png");
  }
}

TEST(Resize, AveragesWhatAPixelCovers) {
  auto [image, memory] = allocate_array(ElementType::kUint8, {1, 1, 2});
  memory[1] = std::byte{200};
  EXPECT_EQ(resize_bilinear(image, 1, 1).as<uint8_t>()[0], 100);
}

TEST(Resize, SameSizeIsTheSameImage) {
  const Array image = ramp({3, 4, 5});
  EXPECT_EQ(resize_bilinear(image, 4, 5).data, image.data);
}

TEST(Resize, ShorterSideWorksForTallImages) {
  EXPECT_EQ(resize_shorter_side(ramp({3, 30, 20}), 7).shape,
            (std::vector<int64_t>{3, 10, 7}));
}

TEST(Resize, CropRoundsHalfPixelsToEven) {
  const Array row = ramp({1, 1, 6});
  EXPECT_EQ(center_crop(row, 1, 5).as<uint8_t>()[0], 0);  // 0.5 to 0
  EXPECT_EQ(center_crop(row, 1, 3).as<uint8_t>()[0], 2);  // 1.5 to 2
  EXPECT_EQ(center_crop(row, 1, 4).as<uint8_t>()[0], 1);
  EXPECT_EQ(center_crop(row, 1, 1).as<uint8_t>()[0], 2);  // 2.5 to 2
}

TEST(Resize, RefusesWhatIsNotAnImageOrASize) {
  EXPECT_THROW(resize_bilinear(ramp({4, 5}), 2, 2), Error);
  EXPECT_THROW(resize_bilinear(ramp({3, 4, 0}), 2, 2), Error);
  EXPECT_THROW(resize_bilinear(ramp({3, 4, 5}), 0, 2), Error);
  EXPECT_THROW(center_crop(ramp({3, 4, 5}), 5, 5), Error);
}

TEST(Resize, RefusesResultsBeyondTheLargestImage) {
  EXPECT_THROW(resize_shorter_side(ramp({3, 1, 100000}), 256 * 256), Error);
}

}  // namespace
}  // namespace sotta
