#include "models/exported/exported.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "models/torchscript.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

const std::string kFolder = std::string(testing::golden_dir()) + "/exported/";

// The networks normalise their pixels themselves.
LoadOptions plain_pixels() {
  LoadOptions options;
  options.normalisation = Normalisation{{0, 0, 0}, {1, 1, 1}};
  return options;
}

std::unique_ptr<Classifier> load(const std::string& name) {
  return load_exported(kFolder + name + ".pt2", plain_pixels());
}

at::Tensor some_images() {
  return testing::Golden("methods/stream")["images"].narrow(0, 0, 8);
}

at::Tensor entropy_gradient(const Classifier& network, const at::Tensor& images,
                            NormStats stats) {
  ModelState state = network.source().clone_norm();
  state.affine = as_leaf(state.affine);
  const auto result = network.forward(images, state, stats);
  return gradient_of(entropy(result.logits).mean(), state.affine);
}

// A file, and the golden of the network in it.
struct Exported {
  const char* file;
  const char* golden;
  size_t norms;
  bool gives_features = true;
};

class ExportedNetworks : public ::testing::TestWithParam<Exported> {
 protected:
  const std::unique_ptr<Classifier> model = load(GetParam().file);
  const testing::Golden golden{std::string("exported/") + GetParam().golden};
};

TEST_P(ExportedNetworks, GiveWhatPyTorchGives) {
  EXPECT_EQ(model->norm_layers().size(), GetParam().norms);
  EXPECT_EQ(model->classes(), 5);
  EXPECT_EQ(model->engine(), "exported");
  // Six images, and it was exported with two.
  const auto found =
      model->forward(golden["images"], model->source(), NormStats::running());
  EXPECT_TRUE(testing::close(found.logits, golden["logits"], 1e-5, 1e-4));
  EXPECT_EQ(found.features.defined(), GetParam().gives_features);
  const auto one = model->forward(golden["images"].narrow(0, 3, 1),
                                  model->source(), NormStats::running());
  EXPECT_TRUE(
      testing::close(one.logits, golden["logits"].narrow(0, 3, 1), 1e-5, 1e-4));
}

TEST_P(ExportedNetworks, GradientsReachTheNormLayers) {
  // PyTorch's is in the order that the layers run in.
  const at::Tensor found =
      entropy_gradient(*model, golden["images"], NormStats::running());
  const at::Tensor wanted = golden["gradient"];
  ASSERT_EQ(found.numel(), wanted.numel());
  int64_t start = 0;
  for (const NormLayer& norm : model->norm_layers()) {
    const int64_t length = 2 * norm.channels;
    EXPECT_TRUE(testing::close(found.narrow(0, 2 * norm.offset, length),
                               wanted.narrow(0, start, length), 1e-5, 1e-3))
        << norm.name;
    start += length;
  }
}

TEST_P(ExportedNetworks, PassesLeaveNoTrace) {
  const auto run = [&](NormStats stats) {
    return model->forward(golden["images"], model->source(), stats).logits;
  };
  const at::Tensor before = run(NormStats::running());
  run(NormStats::batch());
  EXPECT_TRUE(run(NormStats::running()).equal(before));
}

INSTANTIATE_TEST_SUITE_P(
    Files, ExportedNetworks,
    ::testing::Values(Exported{"tiny", "tiny", 12},
                      Exported{"tiny_old", "tiny", 12},
                      Exported{"mixed", "mixed", 3},
                      Exported{"mixed_core", "mixed", 3},
                      Exported{"mixed_train", "mixed", 3},
                      Exported{"layer_norm", "layer_norm", 5},
                      Exported{"group_norm", "group_norm", 3, false},
                      Exported{"attention", "attention", 2},
                      Exported{"multihead", "multihead", 2},
                      Exported{"instance", "instance", 2},
                      Exported{"instance_core", "instance", 2},
                      Exported{"shapes", "shapes", 2}),
    [](const auto& tried) { return std::string(tried.param.file); });

TEST(ExportedFile, IsTheSameNetworkAsTorchScriptAndSafetensors) {
  const auto exported = load("tiny");
  const auto scripted = load_torchscript(
      std::string(testing::golden_dir()) + "/torchscript/traced.pt",
      plain_pixels());
  const auto own =
      make_classifier(testing::Golden("methods/network").file(), {}, "net");
  for (const NormStats stats :
       {NormStats::running(), NormStats::batch(), NormStats::blended(0.05)}) {
    const auto forward = [&](const Classifier& network) {
      return network.forward(some_images(), network.source(), stats);
    };
    const auto found = forward(*exported);
    EXPECT_TRUE(found.logits.equal(forward(*scripted).logits));
    EXPECT_TRUE(testing::close(found.logits, forward(*own).logits, 1e-5));
    EXPECT_TRUE(testing::close(found.features, forward(*own).features, 1e-5));
    const at::Tensor gradient =
        entropy_gradient(*exported, some_images(), stats);
    EXPECT_TRUE(
        gradient.equal(entropy_gradient(*scripted, some_images(), stats)));
    EXPECT_TRUE(testing::close(
        gradient, entropy_gradient(*own, some_images(), stats), 1e-5, 1e-3));
  }
  const auto wanted = own->named_tensors(own->source());
  const auto found = exported->named_tensors(exported->source());
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, tensor] : wanted)
    EXPECT_TRUE(found.at(name).equal(tensor)) << name;
}

TEST(ExportedFile, IsTheSameFromMemory) {
  const std::string bytes = testing::read_bytes(kFolder + "mixed.pt2");
  const auto parsed = parse_exported(bytes, plain_pixels(), "bytes");
  const auto loaded = load("mixed");
  const auto run = [](const Classifier& network) {
    return network
        .forward(some_images(), network.source(), NormStats::running())
        .logits;
  };
  EXPECT_TRUE(run(*parsed).equal(run(*loaded)));
  testing::expect_error(ErrorKind::kBadFormat, "bytes", [&] {
    parse_exported(std::string_view(bytes).substr(0, bytes.size() / 2),
                   plain_pixels(), "bytes");
  });
}

TEST(ExportedFile, AllOperatorsThatLibTorchLacksAreNamedAtOnce) {
  try {
    load("too_new");
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_NE(text.find("does not have: aten::_safe_softmax, aten::rms_norm"),
              std::string::npos)
        << text;
  }  // a newer LibTorch has them
}

TEST(ExportedFile, NetworksThatCannotBeAdaptedAreRefused) {
  testing::expect_error(ErrorKind::kUnsupported,
                        "without_norm.pt2: has no norm layers to adapt",
                        [] { load("without_norm"); });
}

TEST(ExportedFile, ANetworkNeedNotEndInALinearLayer) {
  const auto model = load("without_linear");
  const auto found =
      model->forward(some_images(), model->source(), NormStats::running());
  EXPECT_EQ(found.logits.size(1), 5);
  EXPECT_FALSE(found.features.defined());
}

TEST(ExportedFile, ImagesThatTheNetworkCannotTakeAreOneSentence) {
  const auto model = load("multihead");
  testing::expect_error(ErrorKind::kUnsupported,
                        "multihead.pt2: the network cannot be run on images "
                        "[2, 3, 32, 32], LibTorch says: ",
                        [&] {
                          model->forward(at::rand({2, 3, 32, 32}),
                                         model->source(), NormStats::running());
                        });
}

TEST(ExportedFile, ANormalisationIsRequired) {
  testing::expect_error(
      ErrorKind::kInvalid,
      "mixed.pt2: torch.export does not say how its inputs are normalised",
      [] { load_exported(kFolder + "mixed.pt2", {}); });
}

}  // namespace
}  // namespace sotta
