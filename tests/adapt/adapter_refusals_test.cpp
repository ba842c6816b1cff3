#include <algorithm>
#include <limits>
#include <string>

#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"

#include "adapt/methods/sotta.h"
#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::golden_stream;

std::unique_ptr<Adapter> make(const std::string& method) {
  MethodContext context;
  context.model = testing::golden_network();
  context.rng = Rng(3);
  context.update_interval = 16;
  return make_adapter(method, context);
}

template <class Action>
void expect_sentence(ErrorKind kind, const std::string& sentence,
                     const Action& action) {
  try {
    action();
    ADD_FAILURE() << "expected an error: " << sentence;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_EQ(error.what(), sentence);
  }
}

void expect_refused(Adapter& adapter, const at::Tensor& images,
                    const std::string& problem) {
  const std::string sentence = "images: expected " + problem;
  const auto kind = ErrorKind::kInvalid;
  expect_sentence(kind, sentence, [&] { adapter.step(images); });
  expect_sentence(kind, sentence, [&] { adapter.predict(images); });
}

TEST(AdapterRefusals, SayWhatIsWrongWithImages) {
  const auto adapter = make("source");
  const auto shape = [](const std::string& found) {
    return "a shape [N, 3, H, W] without zeros, got " + found;
  };
  expect_refused(*adapter, at::zeros({2, 3, 16, 16}, at::kDouble),
                 "uint8 or float, got Double");
  expect_refused(*adapter, at::zeros({2, 1, 16, 16}), shape("[2, 1, 16, 16]"));
  expect_refused(*adapter, at::zeros({3, 16, 16}), shape("[3, 16, 16]"));
  expect_refused(*adapter, at::zeros({0, 3, 16, 16}), shape("[0, 3, 16, 16]"));
  expect_refused(*adapter, at::full({1, 3, 16, 16}, 1.5f),
                 "floats within 0 .. 1, got 1.500000 .. 1.500000");
  expect_refused(*adapter, at::full({1, 3, 16, 16}, -0.5f),
                 "floats within 0 .. 1, got -0.500000 .. -0.500000");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_refused(*adapter, at::full({1, 3, 16, 16}, nan),
                 "floats within 0 .. 1, got some that are no numbers");
  const std::string sparse =
      "images: expected a dense tensor, got one that is Sparse";
  expect_sentence(ErrorKind::kInvalid, sparse, [&] {
    adapter->step(at::rand({2, 3, 16, 16}).to_sparse());
  });
}

TEST(AdapterRefusals, FloatsReachFromZeroToOneInclusive) {
  const auto adapter = make("source");
  at::Tensor images = at::rand({2, 3, 16, 16});
  images[0].fill_(0);
  images[1].fill_(1);
  EXPECT_EQ(adapter->step(images).prediction.labels.numel(), 2);
}

TEST(AdapterRefusals, ImagesKeepTheirSizeInBothDirections) {
  const auto adapter = make("source");
  adapter->step(golden_stream().slice(0, 0, 4));
  expect_refused(*adapter, at::rand({1, 3, 20, 16}),
                 "16 x 16 pixels as before, got 20 x 16");
  expect_refused(*adapter, at::rand({1, 3, 16, 20}),
                 "16 x 16 pixels as before, got 16 x 20");
}

// The first snapshot holds no image that says a size, the second one does.
TEST(AdapterRefusals, ARestoredStateSaysHowLargeImagesAre) {
  const auto adapter = make("tent");
  const Snapshot empty = adapter->snapshot();
  adapter->step(golden_stream().slice(0, 0, 4));
  const Snapshot waiting = adapter->snapshot();

  adapter->restore(empty);
  EXPECT_EQ(adapter->predict(at::rand({2, 3, 20, 24})).labels.numel(), 2);
  adapter->step(at::rand({2, 3, 20, 24}));
  adapter->restore(waiting);
  expect_refused(*adapter, at::rand({2, 3, 20, 24}),
                 "16 x 16 pixels as before, got 20 x 24");
}

TEST(AdapterRefusals, SayWhatIsWrongWithASnapshot) {
  const auto adapter = make("sotta");
  adapter->step(golden_stream().slice(0, 0, 20));
  const Snapshot good = adapter->snapshot();
  const auto refused = [&](const Snapshot& bad, const std::string& problem) {
    expect_sentence(ErrorKind::kBadFormat, "snapshot: " + problem,
                    [&] { adapter->restore(bad); });
  };

  Snapshot other = good;
  other.method = "tent";
  refused(other, "belongs to method \"tent\", expected \"sotta\"");
  Snapshot uneven = good;  // four samples wait
  uneven.tensors["adapter.pending"] = at::full({1}, 5, at::kLong);
  refused(uneven,
          "expected \"adapter.verdicts\" on 5 samples of the window, got "
          "others");
}

// Versions that kept no verdicts kept no full window either.
TEST(AdapterRefusals, SayHowManySamplesMayWait) {
  const auto adapter = make("sotta");
  adapter->step(golden_stream().slice(0, 0, 20));
  const Snapshot good = adapter->snapshot();
  const auto waiting = [&](int64_t pending, bool verdicts) {
    Snapshot window = good;
    window.tensors["adapter.pending"] = at::full({1}, pending, at::kLong);
    window.tensors["adapter.verdicts"] =
        at::zeros({std::max<int64_t>(pending, 0)}, at::kLong);
    if (!verdicts) window.tensors.erase("adapter.verdicts");
    return window;
  };
  for (const bool verdicts : {false, true}) {
    const int64_t most = verdicts ? 16 : 15;
    for (const int64_t pending : {int64_t{-1}, most + 1})
      expect_sentence(ErrorKind::kBadFormat,
                      "snapshot: expected 0 to " + std::to_string(most) +
                          " samples of a window of 16, got " +
                          std::to_string(pending),
                      [&] { adapter->restore(waiting(pending, verdicts)); });
    for (const int64_t pending : {int64_t{0}, most}) {
      adapter->restore(waiting(pending, verdicts));
      EXPECT_EQ(adapter->pending(), pending);
    }
  }
}

TEST(AdapterRefusals, ASnapshotOfOtherChannelsSaysBothNumbers) {
  const auto adapter = make("tent");
  adapter->step(golden_stream().slice(0, 0, 4));
  Snapshot grey = adapter->snapshot();
  for (auto& [name, tensor] : grey.tensors)
    if (tensor.dim() == 4) tensor = tensor.slice(1, 0, 1).clone();
  expect_sentence(ErrorKind::kBadFormat,
                  "snapshot: expected images of 3 channels, got 1",
                  [&] { adapter->restore(grey); });
}

TEST(AdapterRefusals, CountersOfARestoredAdapterGoOn) {
  const auto adapter = make("tent");
  adapter->step(golden_stream().slice(0, 0, 37));
  const auto fresh = make("tent");
  fresh->restore(adapter->snapshot());
  EXPECT_EQ(fresh->samples(), 37);
  EXPECT_EQ(fresh->updates(), 2);
  EXPECT_EQ(fresh->pending(), 5);
  fresh->step(golden_stream().slice(0, 37, 48));
  EXPECT_EQ(fresh->samples(), 48);
  EXPECT_EQ(fresh->updates(), 3);
  EXPECT_EQ(fresh->pending(), 0);
  fresh->reset();
  EXPECT_EQ(fresh->samples(), 0);
  EXPECT_EQ(fresh->updates(), 0);
}

// What make_adapter() says of the golden network with one option changed.
void expect_unmade(const std::string& method, const OptionMap& changes,
                   const at::Tensor& source_images,
                   const std::string& sentence) {
  MethodContext context;
  context.model = testing::golden_network();
  context.source_images = source_images;
  expect_sentence(ErrorKind::kInvalid, sentence, [&] {
    make_adapter(method, context, Preset::kClean, changes);
  });
}

TEST(AdapterRefusals, SayWhichNormLayersCannotBeFrozen) {
  for (const char* method : {"sar", "sotta"}) {
    expect_unmade(method, {{"frozen", std::string("layer9")}}, {},
                  "frozen: no norm layer's name contains \"layer9\"");
    expect_unmade(method, {{"frozen", std::string("n")}}, {},
                  "frozen: \"n\" freezes every norm layer");
  }
}

TEST(AdapterRefusals, SayWhatSourceImagesHaveToBe) {
  const OptionMap automatic = {
      {"min_confidence", SottaOptions::kAutoConfidence}};
  const std::string expected =
      "source_images: expected at least one image [N, C, H, W], got ";
  expect_unmade("sotta", automatic, at::zeros({0, 3, 16, 16}),
                expected + "[0, 3, 16, 16]");
  expect_unmade("sotta", automatic, at::zeros({3, 16, 16}),
                expected + "[3, 16, 16]");
}

TEST(AdapterRefusals, SayWhatIsWrongWithAMemory) {
  const auto sized = [](int64_t capacity) {
    MethodContext context;
    context.model = testing::golden_network();
    context.update_interval = 16;
    return make_adapter(
        "sotta", context, Preset::kClean,
        {{"min_confidence", 0.0}, {"memory_capacity", capacity}});
  };
  const auto adapter = sized(8);
  adapter->step(golden_stream().slice(0, 0, 10));
  const Snapshot good = adapter->snapshot();
  const auto refused = [&](Adapter& other, const Snapshot& bad,
                           const std::string& problem) {
    expect_sentence(ErrorKind::kBadFormat, "snapshot: " + problem,
                    [&] { other.restore(bad); });
  };

  refused(*sized(9), good, "expected a memory_capacity of 9, got 8");
  Snapshot without = good;
  without.tensors.erase("memory.images");
  refused(*adapter, without,
          "expected the images of the memory's 8 samples, found none");
  const std::string unfit =
      "its memory does not fit this adapter's of 8 samples";
  const at::Tensor items = good.tensors.at("memory.items");
  for (const auto& [place, value] : std::vector<std::pair<int64_t, int64_t>>{
           {0, -1}, {0, 8}, {2, -1}, {2, 5}}) {  // of a slot, of a label
    Snapshot bad = good;
    bad.tensors["memory.items"] = items.clone();
    bad.tensors["memory.items"][place] = value;
    refused(*adapter, bad, unfit);
  }
  Snapshot cut = good;
  cut.tensors["memory.items"] = items.slice(0, 1).clone();
  refused(*adapter, cut, unfit);
}

}  // namespace
}  // namespace sotta
