#include "data/sets/image_folder.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/data/image.h"

#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

// Two classes of flat images, so that an image says by its colour where it came
// from.
class ImageFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      add("cats/b.png", 20);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      GTEST_SKIP() << error.what();
    }
    add("cats/a.PNG", 10);
    add("ants/deeper/c.png", 30);
    folder_.write("cats/notes.txt", "not an image");
    folder_.write("README", "not a class");
    folder_.write(".hidden/x.png", "not a class either");
  }

  void add(const std::string& name, int grey, int64_t height = 6,
           int64_t width = 9) {
    auto [image, memory] =
        allocate_array(ElementType::kUint8, {1, height, width});
    std::fill_n(memory, image.bytes(), static_cast<std::byte>(grey));
    fs::create_directories((folder_ / name).parent_path());
    write_png(folder_ / name, image);
  }

  std::string error() const {
    try {
      const ImageFolder images(folder_.path());
      images.range(0, images.size());
    } catch (const Error& problem) {
      return problem.what();
    }
    return "no error";
  }

  static ImageFolderOptions small() {
    ImageFolderOptions options;
    options.height = options.width = 4;
    options.shorter_side = 5;
    return options;
  }

  TempDir folder_;
};

TEST_F(ImageFolderTest, SortsClassesAndFiles) {
  const ImageFolder images(folder_.path(), small());
  EXPECT_EQ(images.class_names(), (std::vector<std::string>{"ants", "cats"}));
  ASSERT_EQ(images.size(), 3);
  const auto [pixels, labels] = images.range(0, 3);
  EXPECT_EQ(pixels.sizes(), (at::IntArrayRef{3, 3, 4, 4}));
  const int64_t expected[3][2] = {{30, 0}, {10, 1}, {20, 1}};
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pixels[i].min().item<int64_t>(), expected[i][0]);
    EXPECT_EQ(pixels[i].max().item<int64_t>(), expected[i][0]);
    EXPECT_EQ(labels[i].item<int64_t>(), expected[i][1]);
  }
}

TEST_F(ImageFolderTest, GivesImagesInTheOrderAskedFor) {
  const ImageFolder images(folder_.path(), small());
  const auto batch = images.get({2, 0, 2});
  EXPECT_EQ(batch.images[0][0][0][0].item<int64_t>(), 20);
  EXPECT_EQ(batch.images[1][0][0][0].item<int64_t>(), 30);
  EXPECT_EQ(batch.labels[2].item<int64_t>(), 1);
  EXPECT_THROW(images.get({3}), Error);
  EXPECT_THROW(images.get({-1}), Error);
}

TEST_F(ImageFolderTest, ResizesDirectlyWhenToldSo) {
  ImageFolderOptions options;
  options.height = 8;
  options.width = 3;
  options.shorter_side = 0;
  const ImageFolder images(folder_.path(), options);
  EXPECT_EQ(images.range(0, 1).images.sizes(), (at::IntArrayRef{1, 3, 8, 3}));
  EXPECT_EQ(images.shape().height, 8);
}

TEST_F(ImageFolderTest, RefusesACropLargerThanTheResizedImage) {
  ImageFolderOptions options;
  options.shorter_side = 200;
  EXPECT_THROW(ImageFolder(folder_.path(), options), Error);
}

TEST_F(ImageFolderTest, KnowsTheLabelsOfImagesItHasNotRead) {
  folder_.write("cats/broken.jpg", "GIF89a");

  const at::Tensor labels = ImageFolder(folder_.path(), small()).labels();

  const std::vector<int64_t> found(labels.data_ptr<int64_t>(),
                                   labels.data_ptr<int64_t>() + labels.numel());
  EXPECT_EQ(found, (std::vector<int64_t>{0, 1, 1, 1}));
}

TEST_F(ImageFolderTest, NamesTheUnreadableImage) {
  folder_.write("cats/broken.jpg", "GIF89a");
  EXPECT_EQ(error(), (folder_ / "cats/broken.jpg").string() +
                         ": expected a JPEG or PNG image, found other bytes");
}

TEST_F(ImageFolderTest, NamesTheClassWithoutImages) {
  fs::create_directory(folder_ / "dogs");
  EXPECT_NE(error().find("dogs: expected at least one"), std::string::npos);
}

TEST_F(ImageFolderTest, RefusesLinksThatLeadBack) {
  fs::create_directory_symlink("..", folder_ / "cats/loop");
  EXPECT_NE(error().find("found a link back to a folder around it"),
            std::string::npos);
}

TEST_F(ImageFolderTest, RefusesLinksToThemselves) {
  fs::create_symlink("self.png", folder_ / "cats/self.png");
  EXPECT_NE(error().find("found a link that leads back to itself"),
            std::string::npos);
}

TEST_F(ImageFolderTest, FollowsLinksToFoldersElsewhere) {
  const TempDir other;
  fs::create_directory_symlink(folder_ / "cats", other / "cats");
  EXPECT_EQ(ImageFolder(other.path(), small()).size(), 2);
}

TEST_F(ImageFolderTest, ReadsTheListOfTinyImageNet) {
  add("val/images/val_0.png", 50);
  add("val/images/val_1.png", 60);
  folder_.write("val/val_annotations.txt",
                "val_0.png\tn02\t0\t32\t44\t62\nval_1.png\tn01\t1\t2\t3\t4\n");
  const ImageFolder images(folder_ / "val", small());
  EXPECT_EQ(images.class_names(), (std::vector<std::string>{"n01", "n02"}));
  const auto [pixels, labels] = images.range(0, 2);
  EXPECT_EQ(labels[0].item<int64_t>(), 1);
  EXPECT_EQ(labels[1].item<int64_t>(), 0);
  EXPECT_EQ(pixels[0].max().item<int64_t>(), 50);
}

TEST(ImageFolder, RefusesDamagedLists) {
  for (const std::string list :
       {"", "val_0.png\n", "val_0.png\t\n", "../x.png\tn01\n", "\n"}) {
    const TempDir folder;
    folder.write("val_annotations.txt", list);
    EXPECT_THROW(ImageFolder(folder.path()), Error) << list;
  }
}

TEST(ImageFolder, RefusesAFolderWithoutClasses) {
  const TempDir folder;
  EXPECT_THROW(ImageFolder(folder.path()), Error);
  EXPECT_THROW(ImageFolder(folder / "none"), Error);
  EXPECT_THROW(ImageFolder(folder.write("file", "x")), Error);
}

}  // namespace
}  // namespace sotta
