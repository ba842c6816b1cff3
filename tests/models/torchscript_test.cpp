#include "models/torchscript.h"

#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "models/resnet.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

const std::string kFolder =
    std::string(testing::golden_dir()) + "/torchscript/";

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

TEST_P(TorchScript, IsTheSameFromMemory) {
  const std::string bytes = testing::read_bytes(kFolder + GetParam());
  const auto parsed = parse_torchscript(bytes, plain_pixels(), "bytes");
  const auto run = [](const Classifier& network) {
    return network
        .forward(some_images(), network.source(), NormStats::running())
        .logits;
  };
  EXPECT_TRUE(run(*parsed).equal(run(*model)));
  testing::expect_error(ErrorKind::kBadFormat, "bytes", [&] {
    parse_torchscript(bytes.substr(0, bytes.size() / 2), plain_pixels(),
                      "bytes");
  });
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

// flatten, linear, batch norm, linear: 3 x 4 x 4 images to 5 classes. Every
// part can be spoilt before it is saved.
struct FlatNetwork {
  torch::jit::Module norm{"Norm"}, last{"Last"}, network{"Network"};
  at::Tensor project = at::randn({4, 48}) * 0.1;
  at::Tensor scale = at::rand({4}) + 0.5, shift = at::randn({4});
  at::Tensor mean = at::randn({4}), var = at::rand({4}) + 0.5;
  at::Tensor weight = at::randn({5, 4}), bias = at::randn({5});
  bool last_has_parameters = true;
  std::string projection = "self.project";
  std::string after_project = "x";  // what batch norm is given
  std::string after_last;           // what becomes of the logits
  std::string epsilon = "1e-5";

  void save(const std::filesystem::path& file) {
    norm.register_parameter("weight", scale, false);
    norm.register_parameter("bias", shift, false);
    norm.register_buffer("running_mean", mean);
    norm.register_buffer("running_var", var);
    norm.define(
        "def forward(self, x):\n"
        "  return torch.batch_norm(x, self.weight, self.bias, "
        "self.running_mean, self.running_var, False, 0.1, " +
        epsilon + ", True)\n");
    if (last_has_parameters) {
      last.register_parameter("weight", weight, false);
      last.register_parameter("bias", bias, false);
    } else {
      last.register_buffer("weight", weight);
      last.register_buffer("bias", bias);
    }
    last.define(
        "def forward(self, x):\n"
        "  return torch.linear(x, self.weight, self.bias)\n");
    network.register_parameter("project", project, false);
    network.register_module("norm", norm);
    network.register_module("last", last);
    network.define(
        "def forward(self, x):\n"
        "  x = torch.linear(torch.flatten(x, 1), " +
        projection +
        ")\n"
        "  x = self.norm.forward(" +
        after_project +
        ")\n"
        "  return self.last.forward(torch.flatten(x, 1))" +
        after_last + "\n");
    network.save(file.string());
  }
};

// BatchNorm1d on [N, C], and on [N, C, L] as a row of one.
TEST(TorchScriptFile, NormLayersMayHaveNoImagesBehindThem) {
  for (const char* shape : {"x", "x.unsqueeze(2)"}) {
    const testing::TempDir folder;
    FlatNetwork flat;
    flat.after_project = shape;
    flat.save(folder / "flat.pt");
    const auto model = load_torchscript(folder / "flat.pt", plain_pixels());
    const at::Tensor images = at::rand({6, 3, 4, 4});
    const at::Tensor rows = images.flatten(1).matmul(flat.project.t());

    for (const NormStats stats :
         {NormStats::running(), NormStats::batch(), NormStats::blended(0.25)}) {
      const auto found = model->forward(images, model->source(), stats);

      at::Tensor mean = flat.mean, var = flat.var;
      if (stats.source != NormStats::Source::kRunning) {
        const double share =
            stats.source == NormStats::Source::kBatch ? 1 : stats.batch_share;
        mean = mean * (1 - share) + rows.mean(0) * share;
        var = var * (1 - share) + rows.var(0, /*unbiased=*/false) * share;
        EXPECT_TRUE(testing::close(found.batch_mean, mean, 1e-5));
      }
      const at::Tensor features =
          (rows - mean) / (var + 1e-5).sqrt() * flat.scale + flat.shift;
      EXPECT_TRUE(testing::close(found.features, features, 1e-4));
      EXPECT_TRUE(testing::close(
          found.logits, features.matmul(flat.weight.t()) + flat.bias, 1e-4));
    }
    ModelState state = model->source().clone_norm();
    state.affine = as_leaf(state.affine);
    const auto result = model->forward(images, state, NormStats::batch());
    EXPECT_GT(gradient_of(entropy(result.logits).mean(), state.affine)
                  .abs()
                  .max()
                  .item<double>(),
              1e-4);
  }
}

TEST(TorchScriptFile, EveryBatchNormLayerHasItsOwnEpsilon) {
  const testing::TempDir folder;
  FlatNetwork flat;
  flat.epsilon = "0.5";
  flat.save(folder / "flat.pt");
  const auto model = load_torchscript(folder / "flat.pt", plain_pixels());
  const at::Tensor images = at::rand({6, 3, 4, 4});
  const at::Tensor rows = images.flatten(1).matmul(flat.project.t());
  for (const double share : {0.0, 0.25, 1.0}) {
    const NormStats stats = share == 0   ? NormStats::running()
                            : share == 1 ? NormStats::batch()
                                         : NormStats::blended(share);
    const at::Tensor mean = flat.mean * (1 - share) + rows.mean(0) * share;
    const at::Tensor var =
        flat.var * (1 - share) + rows.var(0, /*unbiased=*/false) * share;
    EXPECT_TRUE(testing::close(
        model->forward(images, model->source(), stats).features,
        (rows - mean) / (var + 0.5).sqrt() * flat.scale + flat.shift, 1e-4));
  }
}

// As networks with group norm do: each row of weights has mean 0 and
// variance 1.
TEST(TorchScriptFile, BatchNormMayStandardiseWeights) {
  const testing::TempDir folder;
  FlatNetwork flat;
  const std::string standardised =
      "torch.batch_norm(self.project.unsqueeze(0), None, None, None, None, "
      "True, 0., 1e-9, True)";
  flat.projection = standardised + ".squeeze(0)";
  flat.save(folder / "flat.pt");
  const auto model = load_torchscript(folder / "flat.pt", plain_pixels());
  ASSERT_EQ(model->norm_layers().size(), 1u);
  const at::Tensor images = at::rand({6, 3, 4, 4});
  const at::Tensor& weights = flat.project;
  const at::Tensor rows = (weights - weights.mean({1}, true)) /
                          weights.var({1}, false, true).sqrt();
  EXPECT_TRUE(testing::close(
      model->forward(images, model->source(), NormStats::running()).features,
      (images.flatten(1).matmul(rows.t()) - flat.mean) /
              (flat.var + 1e-5).sqrt() * flat.scale +
          flat.shift,
      1e-4));

  FlatNetwork of_images;
  of_images.after_project =
      "torch.batch_norm(x, None, None, None, None, True, 0., 1e-9, True)";
  of_images.save(folder / "of_images.pt");
  testing::expect_error(
      ErrorKind::kUnsupported, "has a batch norm layer without scale or shift",
      [&] { load_torchscript(folder / "of_images.pt", plain_pixels()); });
}

TEST(TorchScriptFile, ImagesThatTheNetworkCannotTakeAreOneSentence) {
  const testing::TempDir folder;
  FlatNetwork().save(folder / "flat.pt");
  const auto model = load_torchscript(folder / "flat.pt", plain_pixels());
  testing::expect_error(
      ErrorKind::kUnsupported,
      (folder / "flat.pt").string() +
          ": the network cannot be run on images [2, 3, 8, 8], LibTorch says: ",
      [&] {
        model->forward(at::rand({2, 3, 8, 8}), model->source(),
                       NormStats::running());
      });
}

// Its submodules' functions are gone when the interpreter gives an account of
// the error.
TEST(TorchScriptFile, ImagesThatANetworkOfModulesCannotTakeAreOneSentence) {
  const auto model = load_torchscript(kFolder + "attention.pt", plain_pixels());
  testing::expect_error(ErrorKind::kUnsupported,
                        "cannot be run on images [2, 3, 32, 32]", [&] {
                          model->forward(at::rand({2, 3, 32, 32}),
                                         model->source(), NormStats::running());
                        });
}

TEST(TorchScriptFile, FusedAttentionGetsAGradient) {
  const testing::Golden golden("torchscript/attention");
  const auto model = load_torchscript(kFolder + "attention.pt", plain_pixels());
  ASSERT_EQ(model->norm_layers().size(), 2u);
  ModelState state = model->source().clone_norm();
  state.affine = as_leaf(state.affine);
  const auto result =
      model->forward(golden["images"], state, NormStats::batch());

  EXPECT_TRUE(testing::close(result.logits, golden["logits"], 1e-5));
  EXPECT_TRUE(
      testing::close(gradient_of(entropy(result.logits).mean(), state.affine),
                     golden["gradient"], 1e-6, 1e-4));
}

TEST(TorchScriptFile, ALastLayerOfConstantsIsNotPartOfTheBody) {
  const testing::TempDir folder;
  FlatNetwork flat;
  flat.last_has_parameters = false;
  flat.save(folder / "flat.pt");
  const auto model = load_torchscript(folder / "flat.pt", plain_pixels());

  EXPECT_EQ(model->classes(), 5);
  EXPECT_EQ(model->source().body.numel(), flat.project.numel());
  const auto found = model->forward(at::rand({2, 3, 4, 4}), model->source(),
                                    NormStats::running());
  EXPECT_TRUE(testing::close(
      found.logits, found.features.matmul(flat.weight.t()) + flat.bias, 1e-4));
}

TEST(TorchScriptFile, ANetworkNeedNotEndInALinearLayer) {
  const auto model =
      load_torchscript(kFolder + "without_linear.pt", plain_pixels());
  EXPECT_EQ(model->classes(), 5);
  const auto found =
      model->forward(some_images(), model->source(), NormStats::running());
  EXPECT_EQ(found.logits.sizes(), (std::vector<int64_t>{8, 5}));
  EXPECT_FALSE(found.features.defined());
}

TEST(TorchScriptFile, NormVectorsOfDifferentLengthsAreRefused) {
  const auto refuses = [](const auto& spoil) {
    const testing::TempDir folder;
    FlatNetwork flat;
    spoil(flat);
    flat.save(folder / "flat.pt");
    testing::expect_error(
        ErrorKind::kUnsupported, "norm layer norm has vectors of different",
        [&] { load_torchscript(folder / "flat.pt", plain_pixels()); });
  };
  refuses([](FlatNetwork& flat) { flat.shift = at::zeros({5}); });
  refuses([](FlatNetwork& flat) { flat.mean = at::zeros({3}); });
  refuses([](FlatNetwork& flat) { flat.var = at::ones({2, 2}); });
  refuses([](FlatNetwork& flat) { flat.var = at::ones({4}, at::kLong); });
}

TEST(TorchScriptFile, ANormLayerForOtherChannelsIsOneSentence) {
  const testing::TempDir folder;
  FlatNetwork flat;
  flat.project = at::zeros({7, 48});
  flat.weight = at::zeros({5, 7});
  flat.save(folder / "flat.pt");
  const auto model = load_torchscript(folder / "flat.pt", plain_pixels());
  testing::expect_error(ErrorKind::kUnsupported, "7", [&] {
    model->forward(at::rand({2, 3, 4, 4}), model->source(),
                   NormStats::running());
  });
}

TEST(TorchScriptFile, LogitsOfAnotherShapeAreRefused) {
  const testing::TempDir folder;
  FlatNetwork flat;
  flat.after_last = ".narrow(1, 0, 3)";
  flat.save(folder / "flat.pt");
  const auto model = load_torchscript(folder / "flat.pt", plain_pixels());
  testing::expect_error(ErrorKind::kUnsupported, "expected logits [2, 5]", [&] {
    model->forward(at::rand({2, 3, 4, 4}), model->source(),
                   NormStats::running());
  });
}

TEST(TorchScriptFile, NetworksThatCannotBeAdaptedAreRefused) {
  const auto expect_refusal = [](const char* file, const char* why) {
    testing::expect_error(ErrorKind::kUnsupported, why, [&] {
      load_torchscript(kFolder + file, plain_pixels());
    });
  };
  expect_refusal("without_norm.pt", "has no norm layers to adapt");
  expect_refusal("without_averages.pt", "layer without running averages");
}

TEST(TorchScriptFile, WhatIsNotTorchScriptIsNamed) {
  const testing::TempDir folder;
  std::ofstream(folder / "text.pt") << "not a zip file";
  const auto expect_failure = [](ErrorKind kind, const std::string& part,
                                 const std::filesystem::path& file,
                                 const LoadOptions& options) {
    testing::expect_error(kind, part, [&] { load_torchscript(file, options); });
  };
  expect_failure(ErrorKind::kBadFormat, "text.pt: damaged zip archive",
                 folder / "text.pt", plain_pixels());
  expect_failure(ErrorKind::kNotFound, "none of this name", folder / "none.pt",
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
