#include "serve/protocol/image_batch.h"

#include <cstring>
#include <limits>

#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"
#include "sotta/data/image.h"

#include "data/images/channels.h"
#include "data/tensor.h"
#include "tests/serve/expect_refusal.h"
#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_refusal;

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), 4 * values.size()};
}

InputTensor floats(const std::vector<float>& values) {
  return {TensorType::kFloat32,
          {1, 1, 1, static_cast<int64_t>(values.size())},
          bytes_of(values)};
}

std::string golden_file(const std::string& name) {
  return testing::read_bytes(std::string(testing::golden_dir()) + "/images/" +
                             name);
}

InputTensor files(const std::vector<std::string>& contents) {
  InputTensor input{
      TensorType::kBytes, {static_cast<int64_t>(contents.size())}, ""};
  for (const std::string& content : contents) {
    const auto size = static_cast<uint32_t>(content.size());
    input.data.append(reinterpret_cast<const char*>(&size), 4);
    input.data += content;
  }
  return input;
}

void expect_bad(const std::string& part, const InputTensor& input,
                int64_t channels) {
  expect_refusal(HttpStatus::kBadRequest, part,
                 [&] { make_image_batch(input, channels, {}); });
}

TEST(ImageBatch, BytesBecomeATensorOfTheirShape) {
  const InputTensor input{TensorType::kUint8, {1, 2, 1, 2}, "\x01\x02\x03\xff"};

  EXPECT_TRUE(
      make_image_batch(input, 2, {})
          .equal(at::tensor({1, 2, 3, 255}, at::kByte).reshape({1, 2, 1, 2})));
}

TEST(ImageBatch, FloatsKeepTheirBitsAndTheirRange) {
  EXPECT_TRUE(make_image_batch(floats({0, 0.1f, 1}), 1, {})
                  .flatten()
                  .equal(at::tensor({0.0f, 0.1f, 1.0f})));
  for (const float wrong :
       {-0.001f, 1.001f, std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::infinity()})
    expect_bad("within 0 and 1", floats({0.5f, wrong}), 1);
}

TEST(ImageBatch, RefusesOtherChannels) {
  expect_bad("expected 3 channels, got 1", floats({0.5f}), 3);
}

TEST(ImageBatch, DecodesFilesAndMakesThemGreyForAGreyNetwork) {
  const std::string file = golden_file("photo_rgb.png");
  at::Tensor rgb;
  try {
    rgb = to_tensor(
        decode_image(reinterpret_cast<const std::byte*>(file.data()),
                     static_cast<int64_t>(file.size()), "photo_rgb.png"));
  } catch (const Error&) {
    GTEST_SKIP() << "this build lacks the library";
  }

  const at::Tensor colour = make_image_batch(files({file, file}), 3, {});
  const at::Tensor grey = make_image_batch(files({file}), 1, {});

  EXPECT_TRUE(colour[0].equal(rgb));
  EXPECT_TRUE(colour[1].equal(rgb));
  EXPECT_TRUE(grey[0].equal(with_channels(rgb, 1)));
}

TEST(ImageBatch, RefusesFilesCutAnywhere) {
  const InputTensor whole = files({golden_file("photo_rgb.png")});
  for (const size_t size :
       {size_t{0}, size_t{3}, size_t{4}, size_t{20}, whole.data.size() - 1}) {
    InputTensor cut = whole;
    cut.data.resize(size);
    expect_bad("images: expected", cut, 3);
  }
}

TEST(ImageBatch, RefusesWhatIsNoImage) {
  expect_bad("JPEG or PNG", files({"GIF89a"}), 3);
  InputTensor more = files({golden_file("photo_rgb.png")});
  more.data += "x";
  EXPECT_THROW(make_image_batch(more, 3, {}), RequestError);
}

TEST(ImageBatch, RefusesImagesOfTooManyPixels) {
  RequestLimits limits;
  limits.pixels = 4;

  EXPECT_THROW(
      make_image_batch(files({golden_file("photo_rgb.png")}), 3, limits),
      RequestError);
}

}  // namespace
}  // namespace sotta
