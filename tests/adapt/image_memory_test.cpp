#include "adapt/memory/image_memory.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

// Images whose every pixel is their number.
at::Tensor numbered(int64_t first, int64_t count) {
  return at::arange(first, first + count, at::kByte)
      .view({-1, 1, 1, 1})
      .expand({count, 1, 2, 2})
      .contiguous();
}

Prediction confident(int64_t count) {
  return {at::zeros({count}, at::kLong), at::full({count}, 0.9f),
          at::zeros({count})};
}

ImageMemory fifo_of_three() {
  return ImageMemory(make_fifo_memory(3, 0.5), 3, 2, Rng(0));
}

std::vector<int64_t> kept(ImageMemory& memory) {
  const at::Tensor pixels = memory.images().select(3, 0).select(2, 0);
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < pixels.size(0); ++i)
    numbers.push_back(pixels[i][0].item<int64_t>());
  return numbers;
}

Snapshot saved(ImageMemory& memory) {
  Snapshot snapshot;
  auto saving = StateArchive::into(snapshot);
  memory.exchange(saving, at::kCPU);
  return snapshot;
}

void put_back(ImageMemory& memory, const Snapshot& snapshot) {
  auto loading = StateArchive::from(snapshot);
  memory.exchange(loading, at::kCPU);
  loading.commit();
}

TEST(ImageMemory, PassesOverWhatAScreenFoundForeign) {
  ImageMemory memory = fifo_of_three();
  const auto verdicts =
      memory.offer(numbered(0, 3), confident(3), {false, true, false});
  EXPECT_EQ(verdicts,
            (std::vector<Verdict>{Verdict::kAdmitted, Verdict::kForeign,
                                  Verdict::kAdmitted}));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{0, 2}));
}

TEST(ImageMemory, GoesOnWithWhatIsToBeKept) {
  ImageMemory memory = fifo_of_three();
  memory.offer(numbered(0, 2), confident(2));
  kept(memory);  // two are in their slots, the third waits
  memory.offer(numbered(2, 1), confident(1));
  memory.offer(numbered(3, 1), confident(1), {}, {false, false, true});
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{2, 3}));
  memory.offer(numbered(4, 2), confident(2));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{3, 4, 5}));
  memory.offer(numbered(6, 1), confident(1), {true}, {false, false, false});
  EXPECT_TRUE(memory.empty());
}

TEST(ImageMemory, KeepsTheImagesOfTheSamplesItKeeps) {
  ImageMemory memory = fifo_of_three();
  EXPECT_TRUE(memory.empty());
  memory.offer(numbered(10, 2), confident(2));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{10, 11}));
  // Slots are written several times within one call.
  memory.offer(numbered(20, 5), confident(5));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{22, 23, 24}));
}

// Whatever the memory would say; and they count as samples of the stream.
TEST(ImageMemory, RefusesPredictionsThatAreNotFinite) {
  for (const bool confidence : {true, false}) {
    ImageMemory memory(make_cstu_memory(3, 2, false), 3, 2, Rng(0));
    Prediction prediction = confident(3);
    (confidence ? prediction.confidences : prediction.entropies)[1] =
        std::nanf("");
    EXPECT_EQ(memory.offer(numbered(10, 3), prediction),
              (std::vector<Verdict>{Verdict::kAdmitted, Verdict::kNotFinite,
                                    Verdict::kAdmitted}));
    EXPECT_EQ(kept(memory), (std::vector<int64_t>{10, 12}));
    EXPECT_EQ(memory.items()[1].sample, 2);
  }
}

bool same(const MemoryItem& one, const MemoryItem& other) {
  return one.slot == other.slot && one.sample == other.sample &&
         one.label == other.label && one.confidence == other.confidence &&
         one.uncertainty == other.uncertainty && one.age == other.age;
}

// The numbers of samples, the random stream and the items, in one that is new.
TEST(ImageMemory, GoesOnInAFreshOne) {
  const auto make = [] {
    return ImageMemory(make_hus_memory(3, 2, 0.5), 3, 2, Rng(4));
  };
  ImageMemory old = make(), fresh = make();
  const auto of = [](double number) {
    return Prediction{at::zeros({1}, at::kLong),
                      at::full({1}, static_cast<float>(0.6 + number / 1000)),
                      at::full({1}, static_cast<float>(number / 100))};
  };
  for (int64_t i = 0; i < 20; ++i)
    old.offer(numbered(i, 1), of(static_cast<double>(i)));
  put_back(fresh, saved(old));
  for (int64_t i = 20; i < 60; ++i) {
    EXPECT_EQ(kept(fresh), kept(old));
    for (size_t item = 0; item < 3; ++item)
      EXPECT_TRUE(same(fresh.items()[item], old.items()[item])) << item;
    for (ImageMemory* memory : {&old, &fresh})
      memory->offer(numbered(i, 1), of(static_cast<double>(i)));
  }
  EXPECT_GE(fresh.items()[0].sample, 20);
}

TEST(ImageMemory, PutsAllThatCameSinceTheLastLookInPlaceAtOnce) {
  ImageMemory memory = fifo_of_three();
  at::Tensor first = numbered(10, 2);
  memory.offer(first, confident(2));
  first.zero_();  // the caller's again
  memory.offer(numbered(20, 1), confident(1));
  memory.offer(numbered(30, 1), confident(1));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{11, 20, 30}));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{11, 20, 30}));
  memory.offer(numbered(40, 2), confident(2));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{30, 40, 41}));
}

TEST(ImageMemory, SavesWhatCameSinceTheLastLook) {
  ImageMemory memory = fifo_of_three();
  memory.offer(numbered(10, 2), confident(2));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{10, 11}));
  memory.offer(numbered(20, 2), confident(2));
  const Snapshot snapshot = saved(memory);

  ImageMemory other = fifo_of_three();
  other.offer(numbered(90, 3), confident(3));
  put_back(other, snapshot);
  EXPECT_EQ(kept(other), (std::vector<int64_t>{11, 20, 21}));
  EXPECT_EQ(kept(memory), kept(other));
}

TEST(ImageMemory, GivesImagesThatStayAsTheyAre) {
  ImageMemory memory = fifo_of_three();
  memory.offer(numbered(10, 3), confident(3));
  const at::Tensor given = memory.images(), copy = given.clone();
  memory.offer(numbered(20, 3), confident(3));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{20, 21, 22}));
  EXPECT_TRUE(given.equal(copy));
}

TEST(ImageMemory, TakesNewImagesWhenItWasCleared) {
  ImageMemory memory = fifo_of_three();
  memory.offer(numbered(10, 3), confident(3));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{10, 11, 12}));
  memory.clear();
  memory.offer(numbered(20, 2), confident(2));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{20, 21}));
}

TEST(ImageMemory, HoldsOneImageThatEveryOtherReplaces) {
  ImageMemory memory(make_fifo_memory(1, 0.5), 1, 2, Rng(0));
  for (int64_t i = 0; i < 5; ++i)
    memory.offer(numbered(10 * i, 3), confident(3));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{42}));
}

// Images of another size cannot be joined with those that wait.
TEST(ImageMemory, IsWholeAgainWhenItIsPutBack) {
  ImageMemory memory = fifo_of_three();
  memory.offer(numbered(10, 2), confident(2));
  const Snapshot snapshot = saved(memory);
  EXPECT_ANY_THROW(
      memory.offer(at::zeros({1, 1, 5, 5}, at::kByte), confident(1)));

  put_back(memory, snapshot);
  memory.offer(numbered(20, 1), confident(1));
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{10, 11, 20}));
}

TEST(ImageMemory, SavesFloatsThatWaitBesideBytes) {
  ImageMemory memory = fifo_of_three();
  memory.offer(numbered(51, 1), confident(1));
  EXPECT_EQ(memory.images().scalar_type(), at::kByte);
  memory.offer(numbered(102, 1), confident(1));
  memory.offer(numbered(153, 1).to(at::kFloat) / 255, confident(1));
  const Snapshot snapshot = saved(memory);
  const at::Tensor images = snapshot.tensors.at("memory.images");
  EXPECT_EQ(images.scalar_type(), at::kFloat);
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_NEAR(images[i].max().item<double>(),
                0.2 * static_cast<double>(i + 1), 1e-6);
}

TEST(ImageMemory, StaysBytesWhileTheStreamIsBytes) {
  ImageMemory memory = fifo_of_three();
  memory.offer(numbered(51, 1), confident(1));
  EXPECT_EQ(memory.images().scalar_type(), at::kByte);
  memory.offer(numbered(102, 1).to(at::kFloat) / 255, confident(1));
  EXPECT_EQ(memory.images().scalar_type(), at::kFloat);
  EXPECT_NEAR(memory.images().select(0, 0).max().item<double>(), 0.2, 1e-6);
  EXPECT_NEAR(memory.images().select(0, 1).max().item<double>(), 0.4, 1e-6);
}

TEST(ImageMemory, RefusesASnapshotThatDoesNotFit) {
  ImageMemory memory = fifo_of_three();
  memory.offer(numbered(0, 3), confident(3));
  const Snapshot snapshot = saved(memory);

  for (const int64_t place : {0, 2}) {  // slot, label
    Snapshot bad = snapshot;
    bad.tensors["memory.items"] = snapshot.tensors.at("memory.items").clone();
    bad.tensors["memory.items"][place] = 99;
    auto loading = StateArchive::from(bad);
    EXPECT_THROW(memory.exchange(loading, at::kCPU), Error);
  }
  EXPECT_EQ(kept(memory), (std::vector<int64_t>{0, 1, 2}));
}

// The published code saved the list of samples; the samples aged in the trial.
// What the trial brought is gone, what it evicted has the age it had before.
TEST(ImageMemory, SamplesAgeInATrialThatIsTakenBackIfAsked) {
  for (const bool keep : {true, false}) {
    ImageMemory memory(make_cstu_memory(2, 2, false), 2, 2, Rng(0));
    memory.offer(numbered(0, 1), confident(1));
    const Snapshot before = saved(memory);
    memory.offer(numbered(1, 1), confident(1));
    ASSERT_EQ(memory.items().size(), 2u);
    auto loading = StateArchive::from(before);
    if (keep) loading.keep_survivors();
    memory.exchange(loading, at::kCPU);
    loading.commit();
    ASSERT_EQ(memory.items().size(), 1u);
    EXPECT_EQ(memory.items()[0].sample, 0);
    EXPECT_EQ(memory.items()[0].age, keep ? 2 : 1);
  }
}

// What restoring `memory` from a snapshot says; nothing if it is taken.
std::string complaint(ImageMemory& memory, const Snapshot& snapshot) {
  try {
    auto loading = StateArchive::from(snapshot);
    memory.exchange(loading, at::kCPU);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadFormat);
    return error.what();
  }
  return "";
}

TEST(ImageMemory, RefusesImagesThatAreMissingOrOfAnotherForm) {
  ImageMemory memory = fifo_of_three();
  memory.offer(numbered(0, 3), confident(3));
  const Snapshot good = saved(memory);
  EXPECT_EQ(complaint(memory, good), "");

  Snapshot bad = good;
  bad.tensors.erase("memory.images");
  EXPECT_NE(complaint(memory, bad), "");
  for (const at::Tensor& images :
       {at::zeros({3, 1, 2, 2}, at::kDouble), at::zeros({3, 1, 2}, at::kByte),
        at::zeros({3, 1, 0, 2}, at::kByte)}) {
    bad.tensors["memory.images"] = images;
    EXPECT_NE(complaint(memory, bad), "") << images.sizes();
  }
}

TEST(ImageMemory, RefusesASlotThatTwoSamplesShareOrThatIsNotTheNext) {
  ImageMemory memory = fifo_of_three();
  memory.offer(numbered(0, 2), confident(2));
  for (const int64_t slot : {0, 2}) {
    Snapshot bad = saved(memory);
    bad.tensors["memory.items"][6] = slot;  // of the second sample
    EXPECT_NE(complaint(memory, bad), "") << slot;
  }
}

TEST(ImageMemory, SaysThatTheCapacityDiffers) {
  ImageMemory five(make_fifo_memory(5, 0.5), 5, 2, Rng(0));
  five.offer(numbered(0, 2), confident(2));
  ImageMemory three = fifo_of_three();
  EXPECT_EQ(complaint(three, saved(five)),
            "snapshot: expected a memory_capacity of 3, got 5");
}

}  // namespace
}  // namespace sotta
