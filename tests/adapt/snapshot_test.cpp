#include "sotta/adapt/snapshot.h"

#include <cmath>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/data/safetensors.h"

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

// One value of every kind an archive carries.
struct Everything {
  at::Tensor fixed = at::zeros({3});
  at::Tensor varying;
  at::Tensor kept, waiting;  // images
  int64_t whole = 0;
  double real = 0;
  Rng rng{1};
  std::unique_ptr<Optimiser> optimiser = make_adam({});

  void exchange(StateArchive& archive) {
    archive("fixed", fixed);
    archive.varying("varying", varying, at::kCPU, {-1, 2});
    archive.images("kept", kept, at::kCPU);
    archive.images("waiting", waiting, at::kCPU);
    archive("whole", whole);
    archive("real", real);
    archive("rng", rng);
    archive("adam", *optimiser, fixed);
  }

  Snapshot save() {
    Snapshot snapshot;
    snapshot.method = "everything";
    auto archive = StateArchive::into(snapshot);
    exchange(archive);
    return snapshot;
  }
  void load(const Snapshot& snapshot) {
    auto archive = StateArchive::from(snapshot);
    exchange(archive);
    archive.commit();
  }
};

Everything changed() {
  Everything state;
  state.fixed = at::arange(3).to(at::kFloat);
  state.varying = at::ones({3, 2});
  state.kept = at::ones({3, 1, 4, 5}, at::kByte);
  state.waiting = at::ones({2, 1, 4, 5});
  state.whole = -7;
  state.real = std::nextafter(0.1, 1);
  state.rng.next();
  state.optimiser->step(state.fixed, at::ones({3}));
  return state;
}

TEST(Snapshot, FileAndBackKeepEveryBit) {
  const testing::TempDir folder;
  Everything original = changed();
  write_snapshot(folder / "s.safetensors", original.save());

  Everything copy;
  copy.load(read_snapshot(folder / "s.safetensors"));

  EXPECT_TRUE(copy.fixed.equal(original.fixed));
  EXPECT_TRUE(copy.varying.equal(original.varying));
  EXPECT_TRUE(copy.kept.equal(original.kept));
  EXPECT_TRUE(copy.waiting.equal(original.waiting));
  EXPECT_EQ(copy.whole, -7);
  EXPECT_EQ(copy.real, original.real);
  EXPECT_EQ(copy.rng.next(), original.rng.next());
  original.optimiser->step(original.fixed, at::ones({3}));
  copy.optimiser->step(copy.fixed, at::ones({3}));
  EXPECT_TRUE(copy.fixed.equal(original.fixed));
}

TEST(Snapshot, IsACopy) {
  Everything state = changed();
  const Snapshot snapshot = state.save();
  state.fixed.fill_(9);
  EXPECT_FALSE(snapshot.tensors.at("fixed").equal(state.fixed));
  state.load(snapshot);
  state.fixed.fill_(9);
  EXPECT_FALSE(snapshot.tensors.at("fixed").equal(state.fixed));
}

// As a moving average before its first value.
TEST(Snapshot, ATensorWithoutAValueIsNotSavedAndKeepsItsPlace) {
  struct Average {
    at::Tensor value = at::zeros({2});
    bool has_value = false;
    Snapshot save() {
      Snapshot snapshot;
      auto archive = StateArchive::into(snapshot);
      archive("average", value, has_value);
      return snapshot;
    }
    void load(const Snapshot& snapshot) {
      auto archive = StateArchive::from(snapshot);
      archive("average", value, has_value);
      archive.commit();
    }
  } average;
  const void* const place = average.value.data_ptr();
  const Snapshot none = average.save();
  EXPECT_TRUE(none.tensors.empty());

  average.value.fill_(3);
  average.has_value = true;
  const Snapshot three = average.save();
  average.load(none);
  EXPECT_FALSE(average.has_value);
  EXPECT_TRUE(average.value.equal(at::zeros({2})));
  average.load(three);
  EXPECT_TRUE(average.has_value);
  EXPECT_TRUE(average.value.equal(at::full({2}, 3.f)));
  EXPECT_EQ(average.value.data_ptr(), place);

  Snapshot longer;
  longer.tensors["average"] = at::zeros({3});
  testing::expect_error(ErrorKind::kBadFormat, "average",
                        [&] { average.load(longer); });
}

// An update was tried and is taken back, but for what survives it.
TEST(Snapshot, WhatSurvivesATrialIsLeftAsItIsIfAsked) {
  struct State {
    int64_t network = 1, stream = 1;
    at::Tensor moments = at::zeros({2});
    void exchange(StateArchive& archive) {
      archive.survives_trial([&] {
        archive("stream", stream);
        archive("moments", moments);
      });
      archive("network", network);
    }
  } state;
  Snapshot before;
  auto saving = StateArchive::into(before);
  state.exchange(saving);
  for (const bool keep : {true, false}) {
    state.network = state.stream = 2;
    state.moments.fill_(2);
    auto loading = StateArchive::from(before);
    if (keep) loading.keep_survivors();
    state.exchange(loading);
    loading.commit();
    EXPECT_EQ(state.network, 1);
    EXPECT_EQ(state.stream, keep ? 2 : 1);
    EXPECT_TRUE(state.moments.equal(at::full({2}, keep ? 2.0f : 0.0f)));
  }
}

TEST(Snapshot, UndefinedTensorsStayUndefined) {
  Everything state;
  Everything copy = changed();
  copy.load(state.save());
  EXPECT_FALSE(copy.varying.defined());
}

TEST(Snapshot, AnythingThatDoesNotFitIsRefusedBeforeAnythingChanges) {
  const Snapshot good = changed().save();
  const auto refused = [&](const std::string& name, const at::Tensor& value) {
    Snapshot bad = good;
    if (value.defined())
      bad.tensors[name] = value;
    else
      bad.tensors.erase(name);
    Everything state;
    EXPECT_THROW(state.load(bad), Error) << name;
    EXPECT_EQ(state.whole, 0);
    EXPECT_TRUE(state.fixed.equal(at::zeros({3})));
  };
  refused("fixed", {});
  refused("fixed", at::zeros({4}));
  refused("varying", at::zeros({3, 3}));
  refused("varying", at::zeros({3, 2}, at::kByte));
  refused("kept", at::zeros({3, 1, 4, 5}, at::kLong));
  refused("kept", at::zeros({1, 4, 5}));
  refused("waiting", at::zeros({2, 1, 4, 4}));  // others than are kept
  refused("whole", at::zeros({2}, at::kLong));
  refused("whole", at::zeros({1}));
  refused("rng", at::zeros({1}, at::kLong));
  refused("real", {});
  refused("fixed", at::zeros({3}, at::kDouble));
  refused("adam.steps", {});
  refused("adam.steps", at::zeros({2}, at::kLong));
  refused("adam.steps", at::ones({1}));
  refused("adam.steps", at::full({1}, -1, at::kLong));
  refused("adam.steps", at::full({1}, INT64_MAX, at::kLong));
  refused("adam.steps", at::zeros({1}, at::kLong));  // but there are moments
  refused("adam.first_moment", {});
  refused("adam.first_moment", at::zeros({4}));
  refused("adam.second_moment", at::zeros({3}, at::kDouble));
  refused("unknown", at::zeros({1}));
}

TEST(Snapshot, ARefusalNamesTheTensorWhatIsExpectedAndWhatIsFound) {
  const Snapshot good = changed().save();
  const auto refused = [&](const std::string& name, const at::Tensor& value,
                           const std::string& problem) {
    Snapshot bad = good;
    if (value.defined())
      bad.tensors[name] = value;
    else
      bad.tensors.erase(name);
    Everything state;
    try {
      state.load(bad);
      ADD_FAILURE() << problem;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadFormat);
      EXPECT_EQ(error.what(), "snapshot: expected " + problem);
    }
  };
  const auto words = [](int64_t count) {
    return at::zeros({count}, at::kLong);
  };
  refused("fixed", {}, "a tensor \"fixed\", found none");
  refused("fixed", at::zeros({4}), "\"fixed\" as Float [3], got Float [4]");
  refused("fixed", at::zeros({3, 1}),
          "\"fixed\" as Float [3], got Float [3, 1]");
  refused("fixed", at::zeros({3}, at::kDouble),
          "\"fixed\" as Float [3], got Double [3]");
  refused("varying", at::zeros({3, 3}),
          "\"varying\" as Float [-1, 2], got Float [3, 3]");
  refused("kept", at::zeros({1, 4, 5}),
          "\"kept\" as Float [-1, -1, -1, -1], got Float [1, 4, 5]");
  refused("kept", at::zeros({0, 1, 4, 5}), "\"kept\" without zeros");
  refused("waiting", at::zeros({2, 1, 4, 4}),
          "images of one shape, got [1, 4, 5] and [1, 4, 4]");
  refused("whole", words(2), "\"whole\" of 1 words, got 2");
  refused("real", words(2), "\"real\" of 1 words, got 2");
  refused("rng", words(3), "\"rng\" of 2 words, got 3");
  refused("rng", at::zeros({2}), "\"rng\" as int64, got Float");
  refused("adam.steps", {}, "a tensor \"adam.steps\", found none");
  refused("adam.steps", words(2), "\"adam.steps\" as Long [1], got Long [2]");
  refused("adam.steps", at::full({1}, -1, at::kLong),
          "\"adam.steps\" of 0 to 1152921504606846976, got -1");
  refused("adam.first_moment", at::zeros({4}),
          "\"adam.first_moment\" as Float [3], got Float [4]");
  refused("unknown", words(1),
          std::to_string(good.tensors.size()) + " tensors, got " +
              std::to_string(good.tensors.size() + 1));
}

TEST(Snapshot, WhatASavedStateLeavesOutMayBeMissing) {
  Everything state = changed();
  Snapshot snapshot = state.save();
  for (const char* name : {"varying", "kept", "waiting"})
    snapshot.tensors.erase(name);
  state.load(snapshot);
  EXPECT_FALSE(state.varying.defined());
  EXPECT_FALSE(state.kept.defined());
  EXPECT_FALSE(state.waiting.defined());
}

TEST(Snapshot, BytesAreThoseOfTheFile) {
  const testing::TempDir folder;
  const Snapshot original = changed().save();
  write_snapshot(folder / "s.safetensors", original);
  const std::string bytes = snapshot_bytes(original);

  EXPECT_EQ(bytes, testing::read_bytes(folder / "s.safetensors"));
  EXPECT_EQ(snapshot_bytes(parse_snapshot(bytes, "bytes")), bytes);
  EXPECT_THROW(parse_snapshot(bytes.substr(0, 20), "bytes"), Error);
}

TEST(Snapshot, AFileKeepsTheMethodAndNamesItselfIfItHasNone) {
  const testing::TempDir folder;
  write_snapshot(folder / "s.safetensors", changed().save());
  EXPECT_EQ(read_snapshot(folder / "s.safetensors").method, "everything");

  write_safetensors(folder / "weights", {});
  try {
    read_snapshot(folder / "weights");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadFormat);
    EXPECT_EQ(error.what(),
              (folder / "weights").string() +
                  ": expected a snapshot, found no \"method\" in its metadata");
  }
}

TEST(Snapshot, AFileOfWeightsIsNoSnapshot) {
  const testing::TempDir folder;
  write_snapshot(folder / "s.safetensors", changed().save());
  EXPECT_THROW(read_snapshot(folder / "none.safetensors"), Error);
}

}  // namespace
}  // namespace sotta
