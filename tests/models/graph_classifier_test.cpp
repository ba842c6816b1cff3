#include "models/graph_classifier.h"

#include <functional>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

// The mean of the images times a scale for each of two classes.
GraphNetwork two_scales() {
  GraphNetwork network;
  network.norms = {
      {"norm", NormKind::kLayer, at::ones({2}), at::zeros({2}), {}, {}}};
  network.classes = 2;
  return network;
}

std::unique_ptr<Classifier> make(GraphRun run,
                                 const GraphNetwork& network = two_scales()) {
  LoadOptions options;
  options.normalisation = Normalisation{{0}, {1}};
  return make_graph_classifier(network, std::move(run),
                               {"net", "Graph", "graph"}, options);
}

TEST(GraphClassifier, RunsAFunctionOfTheState) {
  const auto model = make([](torch::jit::Stack& stack) {
    ASSERT_EQ(stack.size(), 5u);
    const at::Tensor mean = stack[0].toTensor().mean({1, 2, 3}).unsqueeze(1);
    stack = torch::jit::Stack{mean * stack[1].toTensor()};
  });
  EXPECT_EQ(model->engine(), "graph");
  const auto found = model->forward(at::ones({3, 1, 2, 2}), model->source(),
                                    NormStats::running());
  EXPECT_TRUE(found.logits.equal(at::ones({3, 2})));
}

TEST(GraphClassifier, OtherOutputsAndFailuresAreOneSentence) {
  const auto forward = [](GraphRun run) {
    const auto model = make(std::move(run));
    model->forward(at::ones({3, 1, 2, 2}), model->source(),
                   NormStats::running());
  };
  testing::expect_error(ErrorKind::kUnsupported, "net: expected logits [3, 2]",
                        [&] {
                          forward([](torch::jit::Stack& stack) {
                            stack = torch::jit::Stack{at::ones({3, 1})};
                          });
                        });
  testing::expect_error(
      ErrorKind::kUnsupported,
      "net: the network cannot be run on images [3, 1, 2, 2], LibTorch says: "
      "no",
      [&] {
        forward([](torch::jit::Stack&) { throw std::runtime_error("no"); });
      });
}

// Of a network that gives the rows of `columns(side)` for images of a size.
int64_t classes_found(int64_t guess,
                      const std::function<int64_t(int64_t side)>& columns) {
  GraphNetwork network = two_scales();
  network.classes = guess;
  network.knows_classes = false;
  return make(
             [columns](torch::jit::Stack& stack) {
               const at::Tensor images = stack[0].toTensor();
               const int64_t found = columns(images.size(3));
               if (found == 0) throw std::runtime_error("too small");
               stack = torch::jit::Stack{at::ones({images.size(0), found})};
             },
             network)
      ->classes();
}

TEST(GraphClassifier, ARunTellsTheNumberOfClassesWhereNothingElseDoes) {
  EXPECT_EQ(classes_found(9, [](int64_t) { return 5; }), 5);
  EXPECT_EQ(classes_found(0, [](int64_t s) { return s < 200 ? 0 : 5; }), 5);
  EXPECT_EQ(classes_found(9, [](int64_t s) { return s == 224 ? 5 : 0; }), 5);
  // Flattened maps: what was expected is found at one of the sizes, or stays.
  EXPECT_EQ(classes_found(128, [](int64_t s) { return s; }), 128);
  EXPECT_EQ(classes_found(9, [](int64_t s) { return s; }), 9);
  EXPECT_EQ(classes_found(9, [](int64_t) { return 0; }), 9);
  testing::expect_error(ErrorKind::kUnsupported,
                        "net: gives no logits [N, classes]",
                        [] { classes_found(0, [](int64_t) { return 0; }); });
}

TEST(GraphClassifier, NormLayersAreNamedByTheirModuleOrTheirScales) {
  EXPECT_EQ(norm_name("layer1.0.bn1.weight"), "layer1.0.bn1");
  EXPECT_EQ(norm_name("block.gamma"), "block.gamma");
  EXPECT_EQ(norm_name("weight"), "weight");
}

TEST(GraphClassifier, NormVectorsAreOfOneLength) {
  GraphNorm norm = two_scales().norms[0];
  EXPECT_NO_THROW(check_norm_vectors(norm, "net"));
  norm.shift = at::ones({3});
  testing::expect_error(ErrorKind::kUnsupported,
                        "net: norm layer norm has vectors of different lengths",
                        [&] { check_norm_vectors(norm, "net"); });
}

TEST(GraphClassifier, TheReasonIsFoundBehindTheAccountOfTheCode) {
  EXPECT_EQ(libtorch_reason(std::runtime_error(
                "The following operation failed in the TorchScript "
                "interpreter.\nTraceback of TorchScript (most recent call "
                "last):\n  File here\nRuntimeError: sizes differ\n")),
            "sizes differ");
  EXPECT_EQ(libtorch_reason(std::runtime_error("\nUnknown type name 'X':\n")),
            "Unknown type name 'X'");
  EXPECT_EQ(libtorch_reason(std::runtime_error("protocol \xc4\x1b found")),
            "protocol ?? found");
  EXPECT_EQ(libtorch_reason(std::runtime_error("")), "no reason was given");
}

}  // namespace
}  // namespace sotta
