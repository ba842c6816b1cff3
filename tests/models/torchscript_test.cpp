#include "sotta/models/torchscript.h"

#include <fstream>

#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "sotta/models/resnet.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

const std::string kFolder = std::string(SOTTA_GOLDEN_DIR) + "/torchscript/";

// The tiny network normalises its pixels itself.
LoadOptions plain_pixels() {
  LoadOptions options;
  options.normalisation = Normalisation{{0, 0, 0}, {1, 1, 1}};
  return options;
}

std::unique_ptr<Classifier> reference() {
  return make_classifier(testing::Golden("methods/network").file(), {}, "net");
}

at::Tensor some_images() {
  return testing::Golden("methods/stream")["images"].narrow(0, 0, 8);
}

class TorchScript : public ::testing::TestWithParam<const char*> {
 protected:
  const std::unique_ptr<Classifier> model =
      load_torchscript(kFolder + GetParam(), plain_pixels());
};

TEST_P(TorchScript, DescribesTheNetwork) {
  EXPECT_EQ(model->classes(), 5);
  EXPECT_EQ(model->channels(), 3);
  EXPECT_EQ(model->engine(), "torchscript");
  const auto expected = reference();
  ASSERT_EQ(model->norm_layers().size(), expected->norm_layers().size());
  for (size_t i = 0; i < model->norm_layers().size(); ++i) {
    EXPECT_EQ(model->norm_layers()[i].name, expected->norm_layers()[i].name);
    EXPECT_EQ(model->norm_layers()[i].offset,
              expected->norm_layers()[i].offset);
  }
}

TEST_P(TorchScript, TensorsHaveTheirNames) {
  const auto expected = reference();
  const auto wanted = expected->named_tensors(expected->source());
  const auto found = model->named_tensors(model->source());
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, tensor] : wanted)
    EXPECT_TRUE(found.at(name).equal(tensor)) << name;
}

TEST_P(TorchScript, GivesWhatOurOwnNetworkGives) {
  const auto expected = reference();
  for (const NormStats stats :
       {NormStats::running(), NormStats::batch(), NormStats::blended(0.05)}) {
    const auto wanted =
        expected->forward(some_images(), expected->source(), stats);
    const auto found = model->forward(some_images(), model->source(), stats);
    EXPECT_TRUE(testing::close(found.logits, wanted.logits, 1e-5));
    EXPECT_TRUE(testing::close(found.features, wanted.features, 1e-5));
    EXPECT_EQ(found.batch_mean.defined(), wanted.batch_mean.defined());
    if (!wanted.batch_mean.defined()) continue;
    EXPECT_TRUE(testing::close(found.batch_mean, wanted.batch_mean, 1e-5));
    EXPECT_TRUE(testing::close(found.batch_var, wanted.batch_var, 1e-5));
  }
}

TEST_P(TorchScript, GradientsReachTheNormLayers) {
  const auto gradient = [](const Classifier& network) {
    ModelState state = network.source().clone_norm();
    state.affine = as_leaf(state.affine);
    const auto result =
        network.forward(some_images(), state, NormStats::batch());
    return gradient_of(entropy(result.logits).mean(), state.affine);
  };
  const at::Tensor found = gradient(*model);
  EXPECT_GT(found.abs().max().item<double>(), 1e-4);
  EXPECT_TRUE(testing::close(found, gradient(*reference()), 1e-5, 1e-3));
}

TEST_P(TorchScript, PassesLeaveNoTrace) {
  const auto before =
      model->forward(some_images(), model->source(), NormStats::running());
  model->forward(some_images(), model->source(), NormStats::batch());
  const auto after =
      model->forward(some_images(), model->source(), NormStats::running());
  EXPECT_TRUE(after.logits.equal(before.logits));
}

INSTANTIATE_TEST_SUITE_P(Files, TorchScript,
                         ::testing::Values("scripted.pt", "traced.pt"),
                         [](const auto& tried) {
                           const std::string file = tried.param;
                           return file.substr(0, file.find('.'));
                         });

TEST(TorchScriptFile, IsToldFromACheckpoint) {
  EXPECT_TRUE(is_torchscript(kFolder + "scripted.pt"));
  EXPECT_TRUE(is_torchscript(kFolder + "traced.pt"));
  EXPECT_FALSE(
      is_torchscript(std::string(SOTTA_GOLDEN_DIR) + "/checkpoints/zip.pth"));
  EXPECT_FALSE(is_torchscript(std::string(SOTTA_GOLDEN_DIR) +
                              "/methods/network.safetensors"));
  EXPECT_FALSE(is_torchscript("no such file"));
}

TEST(TorchScriptFile, NetworksThatCannotBeAdaptedAreRefused) {
  const auto expect_refusal = [](const char* file, const char* why) {
    testing::expect_error(ErrorKind::kUnsupported, why, [&] {
      load_torchscript(kFolder + file, plain_pixels());
    });
  };
  expect_refusal("without_norm.pt", "has no batch norm layers to adapt");
  expect_refusal("without_linear.pt", "does not end in a linear layer");
  expect_refusal("other_epsilon.pt", "whose epsilon is not 1e-5");
}

TEST(TorchScriptFile, WhatIsNotTorchScriptIsNamed) {
  const testing::TempDir folder;
  std::ofstream(folder / "text.pt") << "not a zip file";
  const auto expect_failure = [](ErrorKind kind, const std::string& part,
                                 const std::filesystem::path& file,
                                 const LoadOptions& options) {
    testing::expect_error(kind, part, [&] { load_torchscript(file, options); });
  };
  expect_failure(ErrorKind::kBadFormat, "expected a TorchScript file",
                 folder / "text.pt", plain_pixels());
  expect_failure(ErrorKind::kNotFound, "no such file", folder / "none.pt",
                 plain_pixels());
  expect_failure(ErrorKind::kInvalid, "no normalisation was given",
                 kFolder + "scripted.pt", {});
  LoadOptions coarse = plain_pixels();
  coarse.precision = Precision::kBfloat16;
  expect_failure(ErrorKind::kUnsupported, "bf16 is for our own networks",
                 kFolder + "scripted.pt", coarse);
}

TEST(TorchScriptFile, AnUnusableNormalisationIsRefused) {
  LoadOptions options;
  options.normalisation = Normalisation{{0, 0, 0}, {1, 0, 1}};
  testing::expect_error(
      ErrorKind::kInvalid, "expected standard deviations above 0",
      [&] { load_torchscript(kFolder + "scripted.pt", options); });
}

TEST(TorchScriptFile, AModuleThatCannotBeRunIsRefused) {
  const testing::TempDir folder;
  const auto file = folder / "empty.pt";
  torch::jit::Module("Empty").save(file.string());
  testing::expect_error(ErrorKind::kUnsupported,
                        file.string() + ": expected a network with a forward",
                        [&] { load_torchscript(file, plain_pixels()); });
}

TEST(TorchScriptFile, ImagesOfAnotherShapeAreRefused) {
  const auto model = load_torchscript(kFolder + "scripted.pt", plain_pixels());
  const at::Tensor grey = some_images().narrow(1, 0, 1);
  EXPECT_THROW(model->forward(grey, model->source(), NormStats::running()),
               Error);
}

}  // namespace
}  // namespace sotta
