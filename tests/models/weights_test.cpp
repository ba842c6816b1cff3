#include "sotta/models/weights.h"

#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "models/resnet.h"
#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

const Normalisation kGrey = {{0.286}, {0.353}};

std::unique_ptr<Classifier> small_network() {
  const ResNetSpec spec = named_resnet("resnet8", 10, 1);
  return make_resnet(spec, random_resnet_state(spec, Rng(5)), kGrey);
}

std::string message_of(const TensorFile& file, const LoadOptions& options) {
  try {
    make_classifier(file, options, "m.safetensors");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Weights, ExportAndLoadKeepEveryBit) {
  const auto model = small_network();
  const testing::TempDir folder;
  write_safetensors(folder / "m.safetensors",
                    export_weights(*model, model->source()));

  const auto loaded = load_classifier(folder / "m.safetensors");

  EXPECT_TRUE(loaded->source().body.equal(model->source().body));
  EXPECT_TRUE(loaded->source().affine.equal(model->source().affine));
  EXPECT_TRUE(loaded->source().running_var.equal(model->source().running_var));
  EXPECT_EQ(loaded->normalisation().mean, kGrey.mean);
  EXPECT_EQ(loaded->normalisation().std, kGrey.std);
}

TEST(Weights, HalfPrecisionKeepsNormLayersExact) {
  const auto model = small_network();
  const TensorFile file =
      export_weights(*model, model->source(), WeightPrecision::kHalf);
  EXPECT_EQ(file.tensors.at("conv1.weight").type, ElementType::kFloat16);
  EXPECT_EQ(file.tensors.at("bn1.running_var").type, ElementType::kFloat32);

  const auto loaded = make_classifier(file, {}, "half");
  EXPECT_TRUE(loaded->source().affine.equal(model->source().affine));
  EXPECT_TRUE(loaded->source().body.allclose(model->source().body, 1e-3, 1e-4));
}

TEST(Weights, TorchScriptFilesBringTheirNetwork) {
  LoadOptions options;
  options.normalisation = Normalisation{{0, 0, 0}, {1, 1, 1}};
  const auto loaded = load_classifier(
      std::string(testing::golden_dir()) + "/torchscript/scripted.pt", options);
  EXPECT_EQ(loaded->engine(), "torchscript");
}

TEST(Weights, EveryMismatchIsReportedAtOnce) {
  const auto model = small_network();
  TensorFile file = export_weights(*model, model->source());
  file.tensors.erase("bn1.bias");
  file.tensors["classifier.weight"] = file.tensors["fc.weight"];
  file.tensors["layer1.0.bn1.weight"] = file.tensors["fc.weight"];

  EXPECT_EQ(message_of(file, {}),
            "m.safetensors: tensors do not fit the network, 1 missing: "
            "bn1.bias, 1 unexpected: classifier.weight, 1 of another shape: "
            "layer1.0.bn1.weight (expected [16], got [10, 64])");
}

TEST(Weights, BatchCountersOfPyTorchAreIgnored) {
  const auto model = small_network();
  TensorFile file = export_weights(*model, model->source());
  file.tensors["bn1.num_batches_tracked"] =
      allocate_array(ElementType::kInt64, {}).array;
  EXPECT_EQ(message_of(file, {}), "no error");
}

TEST(Weights, NormalisationMustComeFromSomewhere) {
  const auto model = small_network();
  TensorFile file = export_weights(*model, model->source());
  file.metadata.clear();
  EXPECT_NE(message_of(file, {}).find("normalised"), std::string::npos);

  LoadOptions options;
  options.default_normalisation = kGrey;
  EXPECT_EQ(message_of(file, options), "no error");

  file.metadata = {{"mean", "0.1"}, {"std", "0"}};
  EXPECT_EQ(message_of(file, options),
            "normalisation: expected standard deviations above 0, got 0");

  file.metadata = {{"mean", "0.1,x"}, {"std", "0.2"}};
  EXPECT_EQ(message_of(file, options),
            "m.safetensors: metadata mean: expected numbers separated by "
            "commas, got \"0.1,x\"");
}

TEST(Weights, WhatTheCallerSaysWinsThenTheFileThenTheDefault) {
  const auto model = small_network();
  TensorFile file = export_weights(*model, model->source());
  LoadOptions options;
  const auto loaded = [&] {
    const auto network = make_classifier(file, options, "m");
    return std::pair(network->normalisation().mean,
                     network->normalisation().std);
  };
  using Numbers = std::vector<double>;
  options.default_normalisation = Normalisation{{0.1}, {0.2}};
  EXPECT_EQ(loaded(), std::pair(kGrey.mean, kGrey.std));
  options.normalisation = Normalisation{{0.3}, {0.4}};
  EXPECT_EQ(loaded(), std::pair(Numbers{0.3}, Numbers{0.4}));
  file.metadata.clear();
  EXPECT_EQ(loaded(), std::pair(Numbers{0.3}, Numbers{0.4}));
  options.normalisation.reset();
  EXPECT_EQ(loaded(), std::pair(Numbers{0.1}, Numbers{0.2}));
}

TEST(Weights, WhatTheCallerSaysIsChecked) {
  const auto model = small_network();
  const TensorFile file = export_weights(*model, model->source());
  LoadOptions options;
  options.normalisation = Normalisation{{0.1}, {0}};
  EXPECT_EQ(message_of(file, options),
            "normalisation: expected standard deviations above 0, got 0");
  options.normalisation = Normalisation{{0, 0, 0}, {1, 1, 1}};
  EXPECT_EQ(message_of(file, options),
            "normalisation: expected a mean and a standard deviation for each "
            "of the network's 1 channels, got 3 and 3");
}

TEST(Weights, TorchScriptTakesTheDefaultToo) {
  LoadOptions options;
  options.default_normalisation = Normalisation{{0, 0, 0.5}, {1, 1, 1}};
  const std::string file =
      std::string(testing::golden_dir()) + "/torchscript/scripted.pt";
  EXPECT_EQ(load_classifier(file, options)->normalisation().mean[2], 0.5);
  options.normalisation = Normalisation{{0, 0, 0.25}, {1, 1, 1}};
  EXPECT_EQ(load_classifier(file, options)->normalisation().mean[2], 0.25);
}

TEST(Weights, ThePrecisionAskedForIsTheNetworks) {
  const auto model = small_network();
  const TensorFile file = export_weights(*model, model->source());
  LoadOptions options;
  options.precision = Precision::kBfloat16;
  const auto coarse = make_classifier(file, options, "m");
  const at::Tensor images = at::rand({2, 1, 8, 8});
  const auto logits = [&](const Classifier& network) {
    return network.forward(images, network.source(), NormStats::running())
        .logits;
  };
  EXPECT_FALSE(logits(*coarse).equal(logits(*model)));
  EXPECT_EQ(coarse->source().body.scalar_type(), at::kFloat);

  options.precision = Precision::kTf32;
  EXPECT_EQ(message_of(file, options),
            "precision: tf32 is a format of GPUs, got device cpu");
}

TEST(Weights, NormLayersAloneRestoreWhatAdaptationChanged) {
  const auto model = small_network();
  ModelState adapted = model->source().clone_norm();
  adapted.affine.add_(0.5);
  adapted.running_mean.sub_(1);
  const TensorFile delta = export_norm(*model, adapted);

  const ModelState restored =
      apply_norm(*model, model->source(), delta, "delta");

  EXPECT_TRUE(restored.affine.equal(adapted.affine));
  EXPECT_TRUE(restored.running_mean.equal(adapted.running_mean));
  EXPECT_FALSE(model->source().affine.equal(adapted.affine));
}

TEST(Weights, NormLayersOfAnotherModelAreRefused) {
  const auto model = small_network();
  TensorFile delta = export_norm(*model, model->source());
  delta.tensors.erase("bn1.bias");
  EXPECT_THROW(apply_norm(*model, model->source(), delta, "delta"), Error);
  delta = export_norm(*model, model->source());
  delta.tensors["extra"] = delta.tensors["bn1.bias"];
  EXPECT_THROW(apply_norm(*model, model->source(), delta, "delta"), Error);
}

TEST(Weights, FileThatIsNoNetworkIsRefused) {
  EXPECT_NE(message_of({}, {}).find("not a ResNet"), std::string::npos);
}

TEST(Weights, BothMeanAndDeviationMustBeInTheFile) {
  const auto model = small_network();
  TensorFile file = export_weights(*model, model->source());
  for (const char* name : {"mean", "std"}) {
    file.metadata = {{name, "0.5"}};
    EXPECT_EQ(message_of(file, {}),
              "m.safetensors: does not say how its inputs are normalised "
              "(metadata mean and std), and no normalisation was given");
  }
  file.metadata = {{"mean", "0.1"}, {"std", "0.2,x"}};
  EXPECT_EQ(message_of(file, {}),
            "m.safetensors: metadata std: expected numbers separated by "
            "commas, got \"0.2,x\"");
}

TEST(Weights, NormLayersSayWhatDoesNotFit) {
  const auto model = small_network();
  const auto message = [&](const TensorFile& delta) {
    try {
      apply_norm(*model, model->source(), delta, "delta");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadFormat);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const TensorFile good = export_norm(*model, model->source());
  EXPECT_EQ(message(good), "no error");
  const size_t count = good.tensors.size();
  EXPECT_EQ(count, 4 * model->norm_layers().size());
  for (const char* part : {"weight", "bias", "running_mean", "running_var"}) {
    const std::string name = std::string("layer2.0.bn1.") + part;
    const std::string problem =
        "delta: expected the norm layers of this model, \"" + name +
        "\" is missing or of another shape";
    TensorFile bad = good;
    bad.tensors.erase(name);
    EXPECT_EQ(message(bad), problem);
    bad.tensors[name] = good.tensors.at("bn1.weight");
    EXPECT_EQ(message(bad), problem);
  }
  TensorFile more = good;
  more.tensors["extra"] = good.tensors.at("bn1.bias");
  EXPECT_EQ(message(more), "delta: expected " + std::to_string(count) +
                               " tensors of norm layers, got " +
                               std::to_string(count + 1));
}

TEST(Weights, EveryNormTensorComesBackToItsPlace) {
  const auto model = small_network();
  ModelState adapted = model->source().clone_norm();
  adapted.affine.copy_(at::rand({adapted.affine.numel()}));
  adapted.running_mean.copy_(at::rand({adapted.running_mean.numel()}));
  adapted.running_var.copy_(at::rand({adapted.running_var.numel()}));
  const ModelState restored = apply_norm(*model, model->source(),
                                         export_norm(*model, adapted), "delta");
  EXPECT_TRUE(restored.affine.equal(adapted.affine));
  EXPECT_TRUE(restored.running_mean.equal(adapted.running_mean));
  EXPECT_TRUE(restored.running_var.equal(adapted.running_var));
  EXPECT_TRUE(restored.body.is_same(model->source().body));
}

}  // namespace
}  // namespace sotta
