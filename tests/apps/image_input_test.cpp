#include "image_input.h"

#include <cstring>
#include <iostream>
#include <sstream>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include "sotta/data/image.h"

#include "data/formats/npy.h"
#include "data/tensor.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::TempDir;
using Names = std::vector<std::string>;

// Bytes 0, 1, 2, ... in this shape.
at::Tensor counted(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape)
    count *= extent;
  return at::arange(count, at::kLong).remainder(251).to(at::kByte).view(shape);
}

Names names_of(const ImageBatch& batch) {
  Names names;
  for (const auto& item : batch.items)
    names.push_back(item.name);
  return names;
}

class ImageInputs : public ::testing::Test {
 protected:
  std::string array(const at::Tensor& images) {
    const fs::path file = folder_ / "images.npy";
    write_npy(file, to_array(images));
    return file.string();
  }

  std::string picture(const std::string& name, const at::Tensor& image) {
    const fs::path file = folder_ / name;
    fs::create_directories(file.parent_path());
    write_png(file, to_array(image));
    return file.string();
  }

  // A picture of one value.
  std::string plain(const std::string& name, int value, int64_t side = 4) {
    return picture(name, at::full({3, side, side}, value, at::kByte));
  }

  ImageInputOptions at_path(const std::string& path, int64_t channels = 3) {
    ImageInputOptions options;
    options.path = path;
    options.channels = channels;
    return options;
  }

  at::Tensor all_of(const ImageInputOptions& options) {
    const auto input = open_images(options);
    return input->next(input->total()).images;
  }

  TempDir folder_;
};

TEST_F(ImageInputs, AnArrayGivesItsImagesInParts) {
  const at::Tensor images = counted({5, 2, 4, 3});
  const auto input = open_images(at_path(array(images)));
  EXPECT_EQ(input->total(), 5);
  const at::Tensor wanted = images.permute({0, 3, 1, 2});
  const ImageBatch first = input->next(3), second = input->next(3);
  EXPECT_EQ(names_of(first), (Names{"0", "1", "2"}));
  EXPECT_EQ(names_of(second), (Names{"3", "4"}));
  EXPECT_TRUE(at::equal(first.images, wanted.narrow(0, 0, 3)));
  EXPECT_TRUE(at::equal(second.images, wanted.narrow(0, 3, 2)));
  const ImageBatch none = input->next(3);
  EXPECT_TRUE(none.items.empty());
  EXPECT_FALSE(none.images.defined());
}

TEST_F(ImageInputs, ArraysOfEveryShapeAreOneImageOrSeveral) {
  const auto shape_of = [&](const std::vector<int64_t>& shape,
                            int64_t channels) {
    return all_of(at_path(array(counted(shape)), channels)).sizes().vec();
  };
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(shape_of({4, 5, 3}, 3), (Shape{1, 3, 4, 5}));
  EXPECT_EQ(shape_of({4, 5, 1}, 1), (Shape{1, 1, 4, 5}));
  EXPECT_EQ(shape_of({4, 5}, 1), (Shape{1, 1, 4, 5}));
  EXPECT_EQ(shape_of({2, 4, 5}, 1), (Shape{2, 1, 4, 5}));
  EXPECT_EQ(shape_of({3, 4, 5}, 1), (Shape{3, 1, 4, 5}));
  EXPECT_EQ(shape_of({2, 4, 5, 1}, 3), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(shape_of({2, 4, 5, 3}, 1), (Shape{2, 1, 4, 5}));
}

TEST_F(ImageInputs, ArraysThatHoldNoImagesAreRefused) {
  const auto refused = [&](const at::Tensor& images, const std::string& part) {
    expect_error(ErrorKind::kBadFormat, part,
                 [&] { open_images(at_path(array(images))); });
  };
  const std::string expected = "images.npy: expected uint8 [N, H, W, 1 or 3]";
  refused(counted({4}), expected);
  refused(counted({2, 4, 4, 2}), expected +
                                     ", [N, H, W] or one image without "
                                     "the N, got Byte [2, 4, 4, 2]");
  refused(counted({2, 2, 4, 4, 3}), expected);
  refused(counted({0, 4, 4, 3}), expected);
  refused(counted({2, 4, 4, 3}).to(at::kFloat), expected);
  refused(counted({3, 4, 5}),
          "might be three grey images or one with its "
          "channels first, got [3, 4, 5]");
  ImageInputOptions sized = at_path(array(counted({2, 4, 4, 3})));
  sized.size = 4;
  expect_error(ErrorKind::kInvalid, "--size is for files",
               [&] { open_images(sized); });
}

// The brightness of a colour, as Pillow takes it: (19595 r + 38470 g + 7471 b
// + 32768) / 65536.
TEST_F(ImageInputs, ColourBecomesBrightnessAndGreyBecomesThreeChannels) {
  at::Tensor rgb = at::full({3, 1, 2}, 0, at::kByte);
  const int colours[2][3] = {{200, 30, 90}, {1, 254, 77}};
  for (int64_t x = 0; x < 2; ++x)
    for (int64_t c = 0; c < 3; ++c)
      rgb[c][0][x] = colours[x][c];
  const at::Tensor grey = all_of(at_path(picture("colour.png", rgb), 1));
  for (int64_t x = 0; x < 2; ++x) {
    const int* colour = colours[x];
    const int64_t sum =
        19595 * colour[0] + 38470 * colour[1] + 7471 * colour[2];
    EXPECT_EQ(grey[0][0][0][x].item<int64_t>(), (sum + 32768) / 65536);
  }
  const at::Tensor wide = all_of(at_path(array(counted({1, 2, 4, 1}))));
  EXPECT_EQ(wide.sizes().vec(), (std::vector<int64_t>{1, 3, 2, 4}));
  for (int64_t c = 0; c < 3; ++c)
    EXPECT_TRUE(at::equal(wide[0][c], counted({2, 4})));
}

TEST_F(ImageInputs, ANetworkOfOtherChannelsIsRefused) {
  const auto input = open_images(at_path(array(counted({1, 4, 4, 3})), 4));
  expect_error(ErrorKind::kInvalid, "images: expected 4 channels, got 3",
               [&] { input->next(1); });
  const auto grey = open_images(at_path(array(counted({1, 4, 4, 1})), 2));
  expect_error(ErrorKind::kInvalid, "images: expected 2 channels, got 1",
               [&] { grey->next(1); });
}

TEST_F(ImageInputs, AFolderGivesThePicturesBelowItByPath) {
  plain("p/b.png", 2);
  plain("p/a/z.png", 1);
  plain("p/c.PNG", 3);
  folder_.write("p/notes.txt", "no picture");
  fs::create_directories(folder_ / "p/d.png");
  const std::string root = (folder_ / "p").string();
  const auto input = open_images(at_path(root));
  EXPECT_EQ(input->total(), 3);
  const ImageBatch first = input->next(2), second = input->next(2);
  EXPECT_EQ(names_of(first), (Names{root + "/a/z.png", root + "/b.png"}));
  EXPECT_EQ(names_of(second), Names{root + "/c.PNG"});
  EXPECT_EQ(first.images[0][0][0][0].item<int>(), 1);
  EXPECT_EQ(first.images[1][0][0][0].item<int>(), 2);
  EXPECT_EQ(second.images[0][0][0][0].item<int>(), 3);
  EXPECT_TRUE(input->next(2).items.empty());
}

TEST_F(ImageInputs, WhatHoldsNoPicturesIsNamed) {
  fs::create_directories(folder_ / "empty");
  expect_error(ErrorKind::kBadFormat,
               "empty: expected JPEG or PNG files in it or below, found none",
               [&] { open_images(at_path((folder_ / "empty").string())); });
  expect_error(ErrorKind::kNotFound, "none: there is no such file or folder",
               [&] { open_images(at_path((folder_ / "none").string())); });
  fs::create_symlink("loop", folder_ / "loop");
  expect_error(ErrorKind::kNotFound, "loop: cannot be opened: Too many levels",
               [&] { open_images(at_path((folder_ / "loop").string())); });
}

// Three that can be read, with two between them that cannot.
TEST_F(ImageInputs, FilesThatCannotBeReadDoNotCountAmongThoseAskedFor) {
  plain("p/1.png", 1);
  folder_.write("p/2.png", "no picture");
  plain("p/3.png", 3, 6);
  plain("p/4.png", 4);
  plain("p/5.png", 5);
  const std::string root = (folder_ / "p").string();
  const auto input = open_images(at_path(root));
  const ImageBatch first = input->next(2);
  ASSERT_EQ(first.items.size(), 4u);
  EXPECT_EQ(first.items[0].error, "");
  EXPECT_NE(first.items[1].error.find(root + "/2.png: "), std::string::npos);
  EXPECT_EQ(first.items[2].error,
            root +
                "/3.png: is 6 x 6 pixels and those before it 4 x 4; give "
                "--size to resize them");
  EXPECT_EQ(first.items[3].error, "");
  EXPECT_EQ(first.images.size(0), 2);
  EXPECT_EQ(first.images[1][0][0][0].item<int>(), 4);
  EXPECT_EQ(names_of(input->next(2)), Names{root + "/5.png"});
}

TEST_F(ImageInputs, HeightAndWidthAreComparedOnTheirOwn) {
  const auto error_of = [&](int64_t height, int64_t width) {
    ImageInputOptions options =
        at_path(picture("p.png", at::full({3, height, width}, 9, at::kByte)));
    options.height = 4;
    options.width = 6;
    return open_images(options)->next(1).items.at(0).error;
  };
  const std::string before = " pixels and those before it 6 x 4; give";
  EXPECT_EQ(error_of(4, 6), "");
  EXPECT_NE(error_of(4, 5).find(": is 5 x 4" + before), std::string::npos);
  EXPECT_NE(error_of(5, 6).find(": is 6 x 5" + before), std::string::npos);
}

TEST_F(ImageInputs, StrictBatchesEndWithTheFirstUnreadableFile) {
  plain("p/1.png", 1);
  folder_.write("p/2.png", "no picture");
  plain("p/3.png", 3);
  ImageInputOptions options = at_path((folder_ / "p").string());
  options.strict = true;
  const ImageBatch batch = open_images(options)->next(3);
  ASSERT_EQ(batch.items.size(), 2u);
  EXPECT_NE(batch.items[1].error, "");
  EXPECT_EQ(batch.images.size(0), 1);
}

// Halves of 10 and 90, side by side, in a picture that is twice as wide as
// high.
TEST_F(ImageInputs, PicturesAreResizedOrCroppedInTheMiddle) {
  at::Tensor wide = at::full({3, 8, 16}, 10, at::kByte);
  wide.narrow(2, 8, 8).fill_(90);
  ImageInputOptions options = at_path(picture("wide.png", wide));
  EXPECT_TRUE(at::equal(all_of(options)[0], wide));
  options.size = 4;
  const at::Tensor whole = all_of(options)[0];
  EXPECT_EQ(whole.sizes().vec(), (std::vector<int64_t>{3, 4, 4}));
  options.shorter_side = 8;
  const at::Tensor middle = all_of(options)[0];
  EXPECT_TRUE(at::equal(middle, wide.narrow(1, 2, 4).narrow(2, 6, 4)));
}

TEST_F(ImageInputs, NamesOnStandardInputAreTakenLineByLine) {
  const std::string one = plain("1.png", 1), two = plain("2.png", 2),
                    three = plain("3.png", 3);
  std::istringstream lines(one + "\n\n" + two + "\n" + three + "\n");
  std::streambuf* const before = std::cin.rdbuf(lines.rdbuf());
  const auto input = open_images(at_path("-"));
  const ImageBatch first = input->next(2);
  const auto rest = static_cast<size_t>(lines.tellg());
  const ImageBatch second = input->next(2);
  std::cin.rdbuf(before);
  EXPECT_EQ(input->total(), 0);
  EXPECT_EQ(names_of(first), (Names{one, two}));
  EXPECT_EQ(rest, lines.str().size() - three.size() - 1);
  EXPECT_EQ(names_of(second), Names{three});
  EXPECT_EQ(second.images[0][0][0][0].item<int>(), 3);
}

}  // namespace
}  // namespace sotta::cli
