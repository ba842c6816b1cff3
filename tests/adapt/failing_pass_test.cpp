#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "tests/adapt/failing_classifier.h"
#include "tests/adapt/halves_classifier.h"
#include "tests/adapt/small_adapter.h"

// Memory may run out in any pass of observe(): a client sends the images again
// then, and they must not count twice.

namespace sotta {
namespace {

using testing::expect_same_state;
using testing::FailingClassifier;

std::unique_ptr<Adapter> make(const std::string& method,
                              std::shared_ptr<const Classifier> model,
                              int64_t update_interval) {
  MethodContext context;
  context.model = std::move(model);
  context.update_interval = update_interval;
  OptionMap changes;
  if (method == "eata") changes = {{"fisher_weight", 0.0}};
  if (method == "cotta")
    changes = {{"augmentations", int64_t{2}}, {"anchor_confidence", 1.0}};
  return make_adapter(method, context, Preset::kClean, changes);
}

// Fails in each pass of observe() in turn until there is memory for all, and
// says how often that was.
int64_t fail_in_every_pass(const FailingClassifier& network, Adapter& adapter,
                           const at::Tensor& images) {
  const Snapshot before = adapter.snapshot();
  for (int64_t pass = 1;; ++pass) {
    network.fails = pass;
    try {
      adapter.observe(images);
      network.fails = 0;
      return pass - 1;
    } catch (const std::bad_alloc&) {
      SCOPED_TRACE(pass);
      expect_same_state(adapter.snapshot(), before);
    }
  }
}

class FailingPass : public ::testing::TestWithParam<std::string> {};

TEST_P(FailingPass, LeavesTheAdapterAsItWas) {
  const auto network = std::make_shared<FailingClassifier>(
      make_classifier(testing::Golden("methods/network").file(), {}, "tiny"));
  const auto adapter = make(GetParam(), network, testing::kSmallWindow);
  const at::Tensor stream = testing::golden_stream();
  for (int64_t begin = 0; begin < 64; begin += 8) {
    EXPECT_GE(fail_in_every_pass(*network, *adapter,
                                 stream.slice(0, begin, begin + 8)),
              1);
    if (adapter->update_due()) adapter->update();
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, FailingPass,
                         ::testing::ValuesIn(method_names()),
                         [](const auto& test) { return test.param; });

// Its screen asks the network about the two kinds of images.
TEST(FailingPassOfAScreen, LeavesTheAdapterAsItWas) {
  const auto network = std::make_shared<FailingClassifier>(
      std::make_unique<testing::HalvesClassifier>());
  const auto adapter = make("screened_sotta", network, 64);
  int64_t most = 0;
  for (uint64_t window = 0; window < 4; ++window) {
    const int64_t passes = fail_in_every_pass(
        *network, *adapter,
        at::cat({testing::halves(32, window), testing::noise(32, 9 + window)}));
    most = std::max(most, passes);
    adapter->update();
  }
  EXPECT_GE(most, 3);
}

}  // namespace
}  // namespace sotta
