#include <map>

#include <ATen/ops/cat.h>

#include "sotta/adapt/adapter.h"

#include "tests/adapt/trace.h"
#include "tests/support/temp_dir.h"

// What include/sotta/adapt/adapter.h says of calls that end inside windows, and
// docs/adapter.md of runs in parts, for every method.

namespace sotta {
namespace {

using testing::golden_stream;

constexpr int64_t kWindow = 16;
constexpr int64_t kImages = 80;  // five windows

std::unique_ptr<Adapter> make(const std::string& method) {
  MethodContext context;
  context.model = testing::golden_network();
  context.rng = Rng(3);
  context.update_interval = kWindow;
  context.source_images = testing::Golden("methods/stream")["fisher_clean"];
  OptionMap changes;
  if (method == "sotta" || method == "screened_sotta")
    changes = {{"min_confidence", 0.5}, {"memory_capacity", int64_t{16}}};
  if (method == "cotta")
    changes = {{"augmentations", int64_t{2}}, {"anchor_confidence", 1.0}};
  return make_adapter(method, context, Preset::kClean, changes);
}

// Of the images of a stream, in their order.
struct Answers {
  at::Tensor logits;
  std::vector<Verdict> verdicts;

  void add(const StepResult& result) {
    logits =
        logits.defined() ? at::cat({logits, result.logits}) : result.logits;
    verdicts.insert(verdicts.end(), result.verdicts.begin(),
                    result.verdicts.end());
  }
};

// As the command runs images begin .. end: each call goes up to the end of the
// window at most.
void run(Adapter& adapter, int64_t begin, int64_t end, Answers& answers) {
  while (begin < end) {
    const int64_t next = std::min(end, begin + kWindow - adapter.pending());
    answers.add(adapter.step(golden_stream().slice(0, begin, next)));
    begin = next;
  }
}

struct Outcome {
  Answers answers;
  Snapshot end;
};

Outcome uncut(const std::string& method) {
  Outcome result;
  const auto adapter = make(method);
  run(*adapter, 0, kImages, result.answers);
  result.end = adapter->snapshot();
  return result;
}

// Two adapters, the second of which goes on from the first one's file.
Outcome cut_at(const std::string& method, int64_t cut) {
  const testing::TempDir folder;
  Outcome result;
  const auto first = make(method), second = make(method);
  run(*first, 0, cut, result.answers);
  write_snapshot(folder / "state", first->snapshot());
  second->restore(read_snapshot(folder / "state"));
  EXPECT_EQ(second->samples(), cut);
  EXPECT_EQ(second->pending(), cut % kWindow);
  EXPECT_EQ(second->updates(), first->updates());
  run(*second, cut, kImages, result.answers);
  result.end = second->snapshot();
  return result;
}

// The numbers of a memory's items that are known to the last digit, and those
// that are up to rounding: six words each, the fourth and fifth doubles.
bool alike_items(const at::Tensor& one, const at::Tensor& other) {
  const at::Tensor a = one.view({-1, 6}), b = other.view({-1, 6});
  bool equal = a.sizes() == b.sizes();
  for (const int64_t column : {0, 1, 2, 5})
    equal = equal && a.select(1, column).equal(b.select(1, column));
  for (const int64_t column : {3, 4})
    equal = equal &&
            testing::close(a.select(1, column).contiguous().view(at::kDouble),
                           b.select(1, column).contiguous().view(at::kDouble));
  return equal;
}

bool alike(const Snapshot& one, const Snapshot& other) {
  bool equal = one.tensors.size() == other.tensors.size();
  for (const auto& [name, tensor] : one.tensors) {
    const at::Tensor& match = other.tensors.at(name);
    equal = equal &&
            (name == "memory.items"       ? alike_items(tensor, match)
             : tensor.is_floating_point() ? bool(testing::close(tensor, match))
                                          : tensor.equal(match));
  }
  return equal;
}

bool same(const Snapshot& one, const Snapshot& other) {
  bool equal = one.tensors.size() == other.tensors.size();
  for (const auto& [name, tensor] : one.tensors)
    equal = equal && tensor.equal(other.tensors.at(name));
  return equal;
}

class Calls : public ::testing::TestWithParam<std::string> {
 protected:
  // Looks at a call's images one by one, or together.
  bool looks_at_each() const {
    return GetParam() == "source" || GetParam() == "rotta" ||
           GetParam() == "sotta";
  }
  // Screened SoTTA until the memory gives the statistics.
  bool learns_from_its_answers() const {
    return GetParam() == "cotta" || GetParam() == "screened_sotta";
  }
};

TEST_P(Calls, ACutAtAWindowsEndChangesNothing) {
  const Outcome whole = uncut(GetParam()),
                cut = cut_at(GetParam(), 3 * kWindow);
  EXPECT_TRUE(cut.answers.logits.equal(whole.answers.logits));
  EXPECT_EQ(cut.answers.verdicts, whole.answers.verdicts);
  EXPECT_TRUE(same(cut.end, whole.end));
}

TEST_P(Calls, ACutInsideAWindowChangesWhatTheMethodLooksAtTogether) {
  const int64_t begin = 2 * kWindow, cut = begin + 6, end = begin + kWindow;
  const Outcome whole = uncut(GetParam()), parts = cut_at(GetParam(), cut);
  const auto same_answers = [&](int64_t from, int64_t to) {
    return testing::close(parts.answers.logits.slice(0, from, to),
                          whole.answers.logits.slice(0, from, to), 1e-6);
  };
  EXPECT_TRUE(same_answers(0, begin));
  EXPECT_EQ(same_answers(begin, cut), looks_at_each());
  EXPECT_EQ(same_answers(cut, end), looks_at_each());
  EXPECT_EQ(same_answers(end, kImages), !learns_from_its_answers());
  EXPECT_EQ(alike(parts.end, whole.end), !learns_from_its_answers());

  if (GetParam() == "screened_sotta") return;  // verdicts are on its answers
  // Verdicts that come with the update come too late for the first part.
  for (size_t i = 0; i < whole.answers.verdicts.size(); ++i) {
    const Verdict found = parts.answers.verdicts[i];
    const auto place = static_cast<int64_t>(i);
    const bool early = begin <= place && place < cut;
    if (!early || found != Verdict::kPending) {
      EXPECT_EQ(found, whole.answers.verdicts[i]) << i;
    }
  }
}

// What the parts are predicted as: each as if it were all there is.
TEST_P(Calls, APartIsPredictedAsACallOfItsOwn) {
  const auto adapter = make(GetParam());
  Answers before, parts;
  run(*adapter, 0, 32, before);
  const at::Tensor first =
      adapter->method().predict(golden_stream().slice(0, 32, 38));
  run(*adapter, 32, 38, parts);
  const at::Tensor second =
      adapter->method().predict(golden_stream().slice(0, 38, 48));
  run(*adapter, 38, 48, parts);
  EXPECT_TRUE(testing::close(parts.logits, at::cat({first, second}), 1e-6));
}

INSTANTIATE_TEST_SUITE_P(Registry, Calls, ::testing::ValuesIn(method_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace sotta
