#include "sotta/stream/stream_sources.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "sotta/data/image.h"

#include "corrupt/corrupted_dataset.h"
#include "stream/cached_dataset.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::TempDir;

// A data root with a few records of CIFAR and a few digits.
class StreamSourcesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_.write("cifar-10-batches-bin/test_batch.bin", cifar(10, 1));
    root_.write("cifar-100-binary/train.bin", cifar(7, 2));
    root_.write("cifar-100-binary/test.bin", cifar(4, 2));
    root_.write("mnist/t10k-images-idx3-ubyte",
                std::string("\0\0\x08\x03\0\0\0\x03\0\0\0\x1c\0\0\0\x1c", 16) +
                    std::string(3 * 28 * 28, '\x7f'));
    root_.write("mnist/t10k-labels-idx1-ubyte",
                std::string("\0\0\x08\x01\0\0\0\x03\1\2\3", 11));
  }

  static std::string cifar(size_t records, size_t labels) {
    return std::string(records * (labels + 3072), '\x01');
  }

  static std::string npy_header(const std::string& type,
                                const std::string& shape) {
    std::string header = "{'descr': '" + type +
                         "', 'fortran_order': False, 'shape': " + shape + ", }";
    header += std::string(117 - header.size(), ' ') + "\n";
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
  }

  void add_photo(const std::string& name) {
    auto [image, memory] = allocate_array(ElementType::kUint8, {3, 40, 90});
    // Bright at its left edge, which a crop to a square would cut off.
    for (int64_t i = 0; i < image.bytes(); ++i)
      memory[i] = std::byte(i % 90 < 15 ? 200 : 100);
    fs::create_directories((root_ / name).parent_path());
    write_png(root_ / name, image);
  }

  // Skips the test where the build cannot write PNG files.
  bool add_photos(const std::vector<std::string>& names) {
    try {
      for (const std::string& name : names)
        add_photo(name);
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      return false;
    }
  }

  // Pictures of the published sizes and mean colours, by which they are known.
  void add_frost_photographs(const std::string& folder) {
    struct Photograph {
      int height, width;
      double mean[3];
    };
    const Photograph photographs[] = {
        {600, 900, {77.667, 149.117, 165.736}},
        {315, 560, {200.793, 205.377, 214.482}},
        {315, 560, {200.793, 205.377, 214.482}},
        {350, 527, {137.620, 152.773, 165.176}},
        {495, 660, {112.376, 123.368, 134.752}},
    };
    int number = 0;
    for (const auto& [height, width, mean] : photographs) {
      std::string pixels;
      for (int i = 0; i < height * width; ++i)
        for (const double value : mean)
          pixels += static_cast<char>(
              static_cast<uint8_t>(value + i % 1000 / 1000.0));
      root_.write(folder + "/frost" + std::to_string(++number) + ".npy",
                  npy_header("|u1", "(" + std::to_string(height) + ", " +
                                        std::to_string(width) + ", 3)") +
                      pixels);
    }
  }

  StreamSources open(const std::string& dataset, const std::string& scenario,
                     const std::string& foreign = "") const {
    StreamOptions options;
    options.scenario = scenario;
    options.foreign = foreign;
    return open_sources(dataset, root_.path(), options);
  }

  TempDir root_;
};

TEST_F(StreamSourcesTest, OpensTheTargetsEvaluationSplit) {
  const StreamSources sources = open("cifar10", "benign");

  EXPECT_EQ(sources.name, "cifar10");
  ASSERT_EQ(sources.domains.size(), 1u);
  EXPECT_EQ(sources.domains[0].name, "clean");
  EXPECT_EQ(sources.domains[0].images->size(), 10);
  EXPECT_EQ(sources.foreign, nullptr);
}

TEST_F(StreamSourcesTest, OpensTheScenariosForeignSet) {
  const StreamSources near = open("cifar10", "near");
  EXPECT_EQ(near.foreign_name, "cifar100:train");
  EXPECT_EQ(near.foreign->size(), 7);

  const StreamSources far = open("cifar10", "far");
  EXPECT_EQ(far.foreign_name, "mnist:test");
  EXPECT_EQ(far.foreign->size(), 3);
}

TEST_F(StreamSourcesTest, AnyDatasetCanBeTheForeignSet) {
  EXPECT_EQ(open("cifar10", "near", "cifar100:test").foreign->size(), 4);
  EXPECT_EQ(open("cifar10", "near", "mnist").foreign_name, "mnist:test");
  EXPECT_EQ(open("mnist", "far", "cifar10").foreign->size(), 10);
}

TEST_F(StreamSourcesTest, TakesTheFirstForeignSetThatIsThere) {
  expect_error(ErrorKind::kNotFound, "imagenet/val",
               [&] { open("cifar100", "near"); });
  if (!add_photos({"tiny-imagenet-200/val/a/1.png"})) GTEST_SKIP();
  EXPECT_EQ(open("cifar100", "near").foreign_name, "tiny-imagenet:val");
  add_photos({"imagenet/val/n1/1.png", "imagenet/val/n2/1.png"});

  const StreamSources sources = open("cifar100", "near");

  EXPECT_EQ(sources.foreign_name, "imagenet:val");
  EXPECT_EQ(sources.foreign->size(), 2);
  // Squeezed to the target's size, not cropped.
  EXPECT_EQ(sources.foreign->get({0}).images.sizes(),
            at::IntArrayRef({1, 3, 32, 32}));
}

TEST_F(StreamSourcesTest, AFolderCanBeTheForeignSet) {
  if (!add_photos({"mine/cats/1.png"})) GTEST_SKIP();
  const std::string name = "folder:" + (root_ / "mine").string();

  const StreamSources sources = open("cifar10", "far", name);

  EXPECT_EQ(sources.foreign_name, name);
  EXPECT_EQ(sources.foreign->shape().width, 32);
  const at::Tensor row = sources.foreign->get({0}).images[0][0][16];
  EXPECT_EQ(row[0].item<int64_t>(), 200);
  EXPECT_EQ(row[31].item<int64_t>(), 100);
}

TEST_F(StreamSourcesTest, ADomainPerCorruption) {
  StreamOptions options;
  options.corruptions = "clean,brightness,gaussian_noise";
  options.severity = 2;

  const StreamSources sources = open_sources("cifar10", root_.path(), options);

  ASSERT_EQ(sources.domains.size(), 3u);
  EXPECT_EQ(sources.domains[0].name, "clean");
  EXPECT_EQ(sources.domains[0].source, "");
  EXPECT_EQ(sources.domains[1].name, "brightness-2");
  EXPECT_EQ(sources.domains[1].source, "made");
  const at::Tensor clean = sources.domains[0].images->get({1, 3}).images;
  for (size_t d = 1; d < 3; ++d) {
    const Dataset& images = *sources.domains[d].images;
    EXPECT_FALSE(images.get({1, 3}).images.equal(clean));
    EXPECT_TRUE(
        images.get({3}).images.equal(images.get({1, 3}).images.slice(0, 1)));
    EXPECT_TRUE(images.labels().equal(sources.domains[0].images->labels()));
  }
}

TEST_F(StreamSourcesTest, CorruptionsHaveASeedOfTheirOwn) {
  const auto first_image = [&](int64_t seed, int64_t corruption_seed) {
    StreamOptions options;
    options.corruptions = "gaussian_noise";
    options.seed = seed;
    options.corruption_seed = corruption_seed;
    return open_sources("cifar10", root_.path(), options)
        .domains[0]
        .images->get({0})
        .images;
  };

  EXPECT_TRUE(first_image(1, 0).equal(first_image(2, 0)));
  EXPECT_FALSE(first_image(1, 0).equal(first_image(1, 1)));
}

TEST_F(StreamSourcesTest, CorruptedImagesAreThoseOfTheOptions) {
  const auto clean = open("cifar10", "benign").domains[0].images;
  StreamOptions options;
  options.corruptions = "gaussian_noise,shot_noise";
  options.severity = 2;
  options.corruption_seed = 9;
  const auto made = open_sources("cifar10", root_.path(), options).domains;

  for (size_t i = 0; i < 2; ++i) {
    CorruptionOptions expected;
    expected.kind = i == 0 ? "gaussian_noise" : "shot_noise";
    expected.severity = 2;
    expected.seed = 9;
    EXPECT_TRUE(made[i].images->get({3, 0}).images.equal(
        CorruptedDataset(clean, expected).get({3, 0}).images))
        << expected.kind;
  }
}

TEST_F(StreamSourcesTest, FrostIsMadeOfThePhotographsThatAreGiven) {
  add_frost_photographs("frosty");
  StreamOptions options;
  options.corruptions = "frost";
  options.frost_dir = (root_ / "frosty").string();
  const auto images = [&] {
    return open_sources("cifar10", root_.path(), options)
        .domains[0]
        .images->get({0, 5})
        .images;
  };
  CorruptionOptions expected;
  expected.kind = "frost";
  expected.frost_dir = options.frost_dir;
  EXPECT_TRUE(images().equal(
      CorruptedDataset(open("cifar10", "benign").domains[0].images, expected)
          .get({0, 5})
          .images));
  options.frost_dir = "nowhere";
  expect_error(ErrorKind::kNotFound, "nowhere", images);
}

TEST_F(StreamSourcesTest, PublishedCorruptionsNeedNoCleanImages) {
  // Two images at five severities; all bytes are the severity.
  std::string pixels;
  for (char severity = 1; severity <= 5; ++severity)
    pixels += std::string(2 * 32 * 32 * 3, severity);
  root_.write("CIFAR-10-C/fog.npy",
              npy_header("|u1", "(10, 32, 32, 3)") + pixels);
  root_.write("CIFAR-10-C/labels.npy",
              npy_header("|u1", "(10,)") + std::string(10, '\x04'));
  fs::remove_all(root_ / "cifar-10-batches-bin");
  StreamOptions options;
  options.corruptions = "fog";
  options.severity = 4;

  const StreamDomain domain =
      open_sources("cifar10", root_.path(), options).domains[0];

  EXPECT_EQ(domain.source, "published");
  EXPECT_EQ(domain.images->size(), 2);
  EXPECT_EQ(domain.images->get({1}).images.min().item<int64_t>(), 4);
}

TEST(ParseCorruptions, KnowsLists) {
  EXPECT_EQ(parse_corruptions(""), std::vector<std::string>{"clean"});
  EXPECT_EQ(parse_corruptions("all").size(), 15u);
  EXPECT_EQ(parse_corruptions("fog,clean,fog"),
            (std::vector<std::string>{"fog", "clean", "fog"}));
  for (const char* text : {"fogg", "fog,", ",fog", "fog, snow", "all,fog"})
    expect_error(ErrorKind::kInvalid, "corruptions: unknown name",
                 [&] { parse_corruptions(text); });
}

TEST_F(StreamSourcesTest, SaysWhatIsMissing) {
  expect_error(ErrorKind::kNotFound, "mnist/train-images-idx3-ubyte",
               [&] { open("cifar10", "far", "mnist:train"); });
  expect_error(ErrorKind::kInvalid, "did you mean \"cifar10\"",
               [&] { open("cifar11", "benign"); });
  expect_error(ErrorKind::kInvalid, "dev",
               [&] { open("cifar10", "near", "cifar100:dev"); });
  expect_error(ErrorKind::kNotFound, "no-such-folder",
               [&] { open("cifar10", "far", "folder:no-such-folder"); });
  expect_error(ErrorKind::kInvalid, "scenario",
               [&] { open("cifar10", "noisy"); });
}

TEST_F(StreamSourcesTest, MadeImagesAreKept) {
  StreamOptions options;
  options.corruptions = "fog,clean";

  const auto domains = open_sources("cifar10", root_.path(), options).domains;

  EXPECT_NE(dynamic_cast<const CachedDataset*>(domains[0].images.get()),
            nullptr);
  EXPECT_EQ(dynamic_cast<const CachedDataset*>(domains[1].images.get()),
            nullptr);
}

TEST_F(StreamSourcesTest, OnlyNearAndFarHaveAForeignSet) {
  for (const char* scenario : {"benign", "attack", "noise"}) {
    const StreamSources sources = open("cifar10", scenario);
    EXPECT_EQ(sources.foreign, nullptr) << scenario;
    EXPECT_EQ(sources.foreign_name, "") << scenario;
  }
  EXPECT_EQ(open("cifar10", "near", "cifar10:test").foreign_name,
            "cifar10:test");
}

TEST_F(StreamSourcesTest, OptionsAreCheckedFirst) {
  StreamOptions options;
  options.window = 0;
  expect_error(ErrorKind::kInvalid, "window",
               [&] { open_sources("cifar10", "no-such-root", options); });
}

TEST_F(StreamSourcesTest, ImagesOfOnesOwnAreCorruptedAndHaveNoPublishedOnes) {
  const std::shared_ptr<const Dataset> own =
      open_dataset("cifar10", root_ / "");
  StreamOptions options;
  options.corruptions = "clean,fog";
  const auto sources = make_sources("mine", own, own, options);
  ASSERT_EQ(sources.domains.size(), 2);
  EXPECT_EQ(sources.domains[0].images, own);
  EXPECT_EQ(sources.domains[1].name, "fog-5");
  EXPECT_EQ(sources.domains[1].source, "made");
  CorruptionOptions fog;
  fog.kind = "fog";
  EXPECT_TRUE(sources.domains[1].images->range(0, 3).images.equal(
      CorruptedDataset(own, fog).range(0, 3).images));
  EXPECT_EQ(sources.foreign_name, "mine:foreign");
}

TEST(ParseCorruptions, AllAreTheCommonOnes) {
  EXPECT_EQ(parse_corruptions("all"), common_corruption_names());
}

}  // namespace
}  // namespace sotta
