#include "sotta/stream/stream.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/data/image.h"

#include "data/sets/image_folder.h"
#include "stream/noise_dataset.h"
#include "tests/stream/numbered_images.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::kForeignSet;
using testing::numbered_images;
using testing::numbered_sources;
using testing::TempDir;

bool can_decode_jpeg() {
  try {
    decode_image(std::filesystem::path(testing::golden_dir()) /
                 "images/photo.jpg");
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    return false;
  }
}

std::shared_ptr<const StreamPlan> make_plan(const std::string& scenario,
                                            const StreamSources& sources,
                                            int64_t read_ahead = 16) {
  StreamOptions options;
  options.scenario = scenario;
  options.read_ahead = read_ahead;
  return std::make_shared<const StreamPlan>(options, sources);
}

at::Tensor read_all(Stream& stream, int64_t count) {
  std::vector<at::Tensor> parts;
  while (stream.position() < stream.size())
    parts.push_back(stream.next(count));
  return at::cat(parts);
}

TEST(Stream, GivesTheImagesOfItsPlan) {
  StreamOptions options;
  options.scenario = "near";
  options.domains = "mixed";
  const auto sources = numbered_sources(300, 400, 3);
  const auto plan = std::make_shared<const StreamPlan>(options, sources);

  Stream stream(plan, sources);
  const at::Tensor images = read_all(stream, 64);

  ASSERT_EQ(images.sizes(), at::IntArrayRef({600, 3, 1, 1}));
  ASSERT_EQ(images.scalar_type(), at::kByte);
  for (int64_t i = 0; i < plan->size(); ++i) {
    const SampleTruth& sample = (*plan)[i];
    const auto* pixels = images.data_ptr<uint8_t>() + 3 * i;
    EXPECT_EQ(pixels[0], sample.benign() ? sample.domain : kForeignSet);
    EXPECT_EQ(256 * pixels[1] + pixels[2], sample.index);
  }
}

TEST(Stream, AttackersHoldTargetImages) {
  const auto sources = numbered_sources(100);
  const auto plan = make_plan("attack", sources);

  const at::Tensor images = Stream(plan, sources).next(200);

  for (int64_t i = 0; i < 200; ++i)
    EXPECT_EQ(images[i][2][0][0].item<int64_t>(), (*plan)[i].index);
}

// Image `index` of the noise that a seed stands for.
at::Tensor noise_image(uint64_t seed, int64_t index) {
  return NoiseDataset(Rng(seed).child("noise"), {3, 1, 1}, int64_t{1} << 40)
      .get({index})
      .images[0];
}

TEST(Stream, NoiseIsThatOfItsSeed) {
  const auto sources = numbered_sources(50);
  StreamOptions options;
  options.scenario = "noise";
  for (const uint64_t seed : {3, 4}) {
    options.seed = static_cast<int64_t>(seed);
    const auto plan = std::make_shared<const StreamPlan>(options, sources);
    const at::Tensor images = Stream(plan, sources).next(100);
    int64_t same_under_another_seed = 0;
    for (int64_t i = 0; i < 100; ++i) {
      if ((*plan)[i].benign()) continue;
      const int64_t index = (*plan)[i].index;
      EXPECT_TRUE(images[i].equal(noise_image(seed, index))) << i;
      same_under_another_seed += images[i].equal(noise_image(7 - seed, index));
    }
    EXPECT_LE(same_under_another_seed, 1);
  }
}

TEST(Stream, DoesNotDependOnCallsOrReadingAhead) {
  const auto sources = numbered_sources(150);
  Stream reference(make_plan("noise", sources, 0), sources);
  const at::Tensor expected = read_all(reference, 300);

  for (const int64_t read_ahead : {0, 1, 7, 64, 1000})
    for (const int64_t count : {1, 64, 300}) {
      Stream stream(make_plan("noise", sources, read_ahead), sources);
      EXPECT_TRUE(read_all(stream, count).equal(expected))
          << read_ahead << " ahead, " << count << " at a time";
    }
}

TEST(Stream, EndsWithWhatIsLeftAndThenNothing) {
  const auto sources = numbered_sources(100);
  Stream stream(make_plan("benign", sources), sources);

  EXPECT_EQ(stream.next(64).size(0), 64);
  EXPECT_EQ(stream.next(64).size(0), 36);
  EXPECT_EQ(stream.next(64).sizes(), at::IntArrayRef({0, 3, 1, 1}));
  EXPECT_EQ(stream.position(), 100);
}

TEST(Stream, ContinuesFromAnyWindow) {
  const auto sources = numbered_sources(200);
  const auto plan = make_plan("near", sources);
  Stream whole(plan, sources);
  const at::Tensor expected = read_all(whole, 64);

  Stream stream(plan, sources);
  stream.next(10);
  stream.seek(128);
  EXPECT_TRUE(stream.next(64).equal(expected.slice(0, 128, 192)));
  stream.seek(64);
  EXPECT_TRUE(stream.next(64).equal(expected.slice(0, 64, 128)));
  EXPECT_TRUE(stream.read(5, 50).equal(expected.slice(0, 5, 50)));
  EXPECT_EQ(stream.position(), 128);
  expect_error(ErrorKind::kInvalid, "within 0 .. 400",
               [&] { stream.seek(401); });
  expect_error(ErrorKind::kInvalid, "within 0 .. 400",
               [&] { stream.read(399, 401); });
}

TEST(Stream, GoesOnAfterAMove) {
  const auto sources = numbered_sources(200);
  const auto plan = make_plan("benign", sources);
  Stream first(plan, sources);
  const at::Tensor begin = first.next(64);

  Stream second = std::move(first);

  EXPECT_TRUE(second.next(136).equal(Stream(plan, sources).read(64, 200)));
}

// Counts the images it hands out; image `broken` cannot be read.
class CountingImages : public Dataset {
 public:
  explicit CountingImages(std::shared_ptr<const Dataset> images,
                          int64_t broken = -1)
      : images_(std::move(images)), broken_(broken) {}
  explicit CountingImages(int64_t size, int64_t broken = -1)
      : CountingImages(numbered_images(size, 0), broken) {}

  int64_t size() const override { return images_->size(); }
  int64_t classes() const override { return images_->classes(); }
  ImageShape shape() const override { return images_->shape(); }
  at::Tensor labels() const override { return images_->labels(); }
  LabelledImages get(const std::vector<int64_t>& indices) const override {
    for (const int64_t index : indices)
      if (index == broken_)
        fail(ErrorKind::kBadFormat, "photo.jpg", "the file is cut short");
    const int64_t read = read_ += static_cast<int64_t>(indices.size());
    most_ahead_ = std::max<int64_t>(most_ahead_, read - asked_for_);
    return images_->get(indices);
  }

  void ask_for(int64_t count) { asked_for_ += count; }
  int64_t read() const { return read_; }
  int64_t most_ahead() const { return most_ahead_; }

 private:
  std::shared_ptr<const Dataset> images_;
  int64_t broken_;
  std::atomic<int64_t> asked_for_{0};
  mutable std::atomic<int64_t> read_{0};
  mutable std::atomic<int64_t> most_ahead_{0};
};

StreamSources counting_sources(const std::shared_ptr<CountingImages>& images) {
  StreamSources sources;
  sources.name = "counting";
  sources.domains = {{"clean", images}};
  return sources;
}

TEST(Stream, HoldsNoMoreImagesThanItMayReadAhead) {
  const auto images = std::make_shared<CountingImages>(2000);
  const auto sources = counting_sources(images);
  Stream stream(make_plan("benign", sources, 32), sources);

  for (int window = 0; window < 100; ++window) {
    images->ask_for(20);
    stream.next(20);
  }

  EXPECT_EQ(images->read(), 2000);
  EXPECT_LE(images->most_ahead(), 32);
}

// Three classes with as many copies of a JPEG file of 75 x 53 pixels each.
std::shared_ptr<const Dataset> photographs(const TempDir& folder, int copies) {
  const std::string jpeg = testing::read_bytes(
      std::filesystem::path(testing::golden_dir()) / "images/photo.jpg");
  for (int i = 0; i < 3 * copies; ++i)
    folder.write(
        "class" + std::to_string(i % 3) + "/" + std::to_string(i) + ".jpg",
        jpeg);
  return std::make_shared<ImageFolder>(folder.path());
}

TEST(Stream, HoldsAFewPhotographsHoweverLongItIs) {
  if (!can_decode_jpeg()) GTEST_SKIP() << "this build cannot read JPEG files";
  const TempDir folder;
  const auto images = std::make_shared<CountingImages>(photographs(folder, 20));
  const auto sources = counting_sources(images);
  StreamOptions options;
  options.scenario = "noise";
  options.read_ahead = 24;
  const auto plan = std::make_shared<const StreamPlan>(options, sources);

  Stream stream(plan, sources);
  while (stream.position() < stream.size()) {
    const int64_t end = std::min(stream.position() + 10, stream.size());
    images->ask_for(
        plan->truth(stream.position(), end).benign.sum().item<int64_t>());
    ASSERT_EQ(stream.next(10).sizes(), at::IntArrayRef({10, 3, 224, 224}));
  }

  EXPECT_EQ(images->read(), 60);
  EXPECT_LE(images->most_ahead(), 24);
}

TEST(Stream, NamesThePhotographThatIsBroken) {
  const TempDir folder;
  for (int i = 0; i < 10; ++i)
    folder.write("class/" + std::to_string(i) + ".jpg", "no image");
  StreamSources sources;
  sources.name = "photographs";
  sources.domains = {{"clean", std::make_shared<ImageFolder>(folder.path())}};
  const auto plan = make_plan("benign", sources);
  Stream stream(plan, sources);

  expect_error(
      ErrorKind::kBadFormat,
      std::to_string((*plan)[0].index) + ".jpg: expected a JPEG or PNG image",
      [&] { stream.next(1); });
}

TEST(Stream, ReadsNothingBeforeItIsAsked) {
  const auto images = std::make_shared<CountingImages>(100);
  const auto sources = counting_sources(images);

  const Stream stream(make_plan("benign", sources), sources);

  EXPECT_EQ(images->read(), 0);
}

TEST(Stream, FailsAtTheImageThatCannotBeRead) {
  const auto images = std::make_shared<CountingImages>(100, /*broken=*/42);
  const auto sources = counting_sources(images);
  for (const int64_t read_ahead : {0, 16}) {
    const auto plan = make_plan("benign", sources, read_ahead);
    int64_t position = 0;
    while ((*plan)[position].index != 42)
      ++position;
    Stream stream(plan, sources);

    stream.next(position);
    for (int attempt = 0; attempt < 2; ++attempt)
      expect_error(ErrorKind::kBadFormat, "photo.jpg: the file is cut short",
                   [&] { stream.next(1); });
    EXPECT_EQ(stream.position(), position);
    stream.seek(position + 1);
    EXPECT_EQ(stream.next(100).size(0), 99 - position);
  }
}

TEST(Stream, ForeignImagesTakeTheTargetsShape) {
  auto sources = numbered_sources(20);
  const LabelledImages grey = sources.foreign->range(0, 100);
  sources.foreign = std::make_shared<TensorDataset>(
      LabelledImages{
          grey.images.slice(1, 2).expand({100, 1, 4, 5}).contiguous(),
          grey.labels},
      10, "grey");
  const auto plan = make_plan("far", sources);

  const at::Tensor images = Stream(plan, sources).next(40);

  ASSERT_EQ(images.sizes(), at::IntArrayRef({40, 3, 1, 1}));
  for (int64_t i = 0; i < 40; ++i) {
    if ((*plan)[i].benign()) continue;
    for (int64_t channel = 0; channel < 3; ++channel)
      EXPECT_EQ(images[i][channel][0][0].item<int64_t>(), (*plan)[i].index);
  }
}

TEST(Stream, RefusesSourcesOfAnotherPlan) {
  const auto plan = make_plan("near", numbered_sources(100, 200));

  const auto expect_refused = [&](const std::string& part,
                                  const StreamSources& sources) {
    expect_error(ErrorKind::kInvalid, part, [&] { Stream(plan, sources); });
  };
  expect_refused("1 domains, the sources have 2",
                 numbered_sources(100, 200, 2));
  expect_refused("than the domain d0 has", numbered_sources(50, 200));
  expect_refused("than the foreign set has", numbered_sources(100, 20));
}

TEST(Stream, CanBeReadFromEndToEndAndNowhereElse) {
  const auto sources = numbered_sources(30);
  Stream stream(make_plan("near", sources), sources);
  const at::Tensor all = stream.read(0, 60);

  ASSERT_EQ(all.size(0), 60);
  for (const int64_t place : {0, 11, 60})
    EXPECT_EQ(stream.read(place, place).sizes(), at::IntArrayRef({0, 3, 1, 1}));
  stream.seek(60);
  EXPECT_EQ(stream.position(), 60);
  EXPECT_EQ(stream.next(5).size(0), 0);
  stream.seek(0);
  EXPECT_EQ(stream.position(), 0);
  EXPECT_EQ(stream.next(0).size(0), 0);
  EXPECT_TRUE(stream.next(60).equal(all));

  const auto expect_refused = [](const std::string& part, const auto& action) {
    expect_error(ErrorKind::kInvalid, "Stream: expected a " + part, action);
  };
  expect_refused("range within 0 .. 60, got -1 .. 5",
                 [&] { stream.read(-1, 5); });
  expect_refused("range within 0 .. 60, got 6 .. 5",
                 [&] { stream.read(6, 5); });
  expect_refused("range within 0 .. 60, got 60 .. 61",
                 [&] { stream.read(60, 61); });
  expect_refused("position within 0 .. 60, got -1", [&] { stream.seek(-1); });
  expect_refused("position within 0 .. 60, got 61", [&] { stream.seek(61); });
  expect_refused("count of at least 0, got -1", [&] { stream.next(-1); });
}

TEST(Stream, AsksForNothingWhereNothingIsWanted) {
  const auto images = std::make_shared<CountingImages>(100);
  const auto sources = counting_sources(images);
  Stream stream(make_plan("benign", sources, 8), sources);

  EXPECT_EQ(stream.next(0).size(0), 0);
  EXPECT_EQ(images->read(), 0);
}

TEST(Stream, ASeekToWhereItIsKeepsWhatIsReadAhead) {
  const auto images = std::make_shared<CountingImages>(100);
  const auto sources = counting_sources(images);
  Stream stream(make_plan("benign", sources, 50), sources);
  const at::Tensor expected = stream.read(0, 100);
  const int64_t before = images->read();

  for (int64_t i = 0; i < 100; i += 10) {
    EXPECT_TRUE(stream.next(10).equal(expected.slice(0, i, i + 10)));
    stream.seek(i + 10);
  }

  EXPECT_EQ(images->read() - before, 100);
}

// A call that fails in its middle has given nothing.
TEST(Stream, AFailedCallIsAsIfItHadNotBeen) {
  const auto images = std::make_shared<CountingImages>(60, /*broken=*/42);
  const auto sources = counting_sources(images);
  for (const int64_t read_ahead : {0, 1, 5, 64}) {
    const auto plan = make_plan("benign", sources, read_ahead);
    int64_t broken = 0;
    while ((*plan)[broken].index != 42)
      ++broken;
    ASSERT_GT(broken, 3);
    Stream stream(plan, sources);
    const at::Tensor expected = stream.read(2, broken);

    stream.next(2);
    expect_error(ErrorKind::kBadFormat, "photo.jpg",
                 [&] { stream.next(broken); });
    EXPECT_EQ(stream.position(), 2);
    EXPECT_TRUE(stream.next(broken - 2).equal(expected)) << read_ahead;
  }
}

// The foreign images have the right channels, or height, or width, but not all.
TEST(Stream, ForeignImagesAreFittedInEveryDimension) {
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {20, 3, 1, 4}, {20, 3, 4, 1}, {20, 1, 1, 1}}) {
    auto sources = numbered_sources(20);
    const LabelledImages own = sources.foreign->range(0, 20);
    sources.foreign = std::make_shared<TensorDataset>(
        LabelledImages{own.images.slice(1, 2).expand(shape).contiguous(),
                       own.labels},
        10, "foreign");
    const auto plan = make_plan("near", sources);

    const at::Tensor images = Stream(plan, sources).next(40);

    for (int64_t i = 0; i < 40; ++i)
      if (!(*plan)[i].benign()) {
        EXPECT_EQ(images[i].sum().item<int64_t>(), 3 * (*plan)[i].index);
      }
  }
}

TEST(Stream, RefusesSourcesThatLackOneImageOfItsPlan) {
  const auto plan = make_plan("near", numbered_sources(100, 100, 2));
  EXPECT_NO_THROW(Stream(plan, numbered_sources(100, 100, 2)));

  const auto expect_refused = [&](const std::string& part,
                                  const StreamSources& sources) {
    expect_error(ErrorKind::kInvalid, part, [&] { Stream(plan, sources); });
  };
  auto sources = numbered_sources(100, 99, 2);
  expect_refused("Stream: the plan asks for more images than the foreign set",
                 sources);
  sources.foreign = nullptr;
  expect_refused("Stream: the plan asks for more images than the foreign set",
                 sources);
  sources = numbered_sources(100, 100, 2);
  sources.domains[1].images = numbered_images(99, 1);
  expect_refused("Stream: the plan asks for more images than the domain d1 has",
                 sources);
  sources.domains[1].images = nullptr;
  expect_refused("Stream: the plan asks for more images than the domain d1 has",
                 sources);
  expect_refused("Stream: the plan has 2 domains, the sources have 3",
                 numbered_sources(100, 100, 3));
}

TEST(Stream, ForeignImagesThatItsPlanLacksNeedNotBeThere) {
  auto sources = numbered_sources(10);
  sources.foreign = nullptr;
  for (const char* scenario : {"benign", "attack", "noise"})
    EXPECT_EQ(Stream(make_plan(scenario, sources), sources).next(10).size(0),
              10);
}

}  // namespace
}  // namespace sotta
