#include <set>
#include <tuple>

#include <ATen/TensorOperators.h>

#include "tests/adapt/trace.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/golden_dir.h"

// Networks with layer norm, group norm, and both beside batch norm.

namespace sotta {
namespace {

using testing::Trace;

std::shared_ptr<const Classifier> load(const std::string& file) {
  LoadOptions options;  // safetensors say it themselves
  options.default_normalisation = Normalisation{{0, 0, 0}, {1, 1, 1}};
  return load_classifier(std::string(testing::golden_dir()) + "/" + file,
                         options);
}

std::shared_ptr<const Classifier> network(const std::string& name) {
  return load("torchscript/" + name + ".pt");
}

MethodContext context_of(const std::string& name) {
  MethodContext context;
  context.model = network(name);
  context.update_interval = 16;
  context.source_images = testing::golden_stream().slice(0, 0, 32);
  return context;
}

class OtherNorms : public ::testing::TestWithParam<
                       std::tuple<const char*, const char*, const char*>> {};

TEST_P(OtherNorms, TenWindowsEqualPyTorch) {
  const auto [name, method, format] = GetParam();
  const Trace trace(std::string(name) + "_" + method);
  const std::shared_ptr<const Classifier> model =
      std::string(format) == "exported"
          ? load("exported/" + std::string(name) + ".pt2")
          : network(name);
  const auto make = [&, method = std::string(method)] {
    MethodContext context = trace.context();
    context.model = model;
    return make_adapter(method, context, Preset::kClean, trace.options());
  };
  auto adapter = make();
  for (int64_t window = 0; window < 10; ++window) {
    testing::expect_window(trace, window, *adapter,
                           adapter->step(trace.window(window)));
    if (testing::is_time_for_a_fresh_one(window))
      testing::go_on_with_a_fresh_one(adapter, make);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Traces, OtherNorms,
    ::testing::Combine(::testing::Values("layer_norm", "group_norm", "mixed"),
                       ::testing::Values("tent", "sar", "sotta"),
                       ::testing::Values("torchscript", "exported")),
    [](const auto& test) {
      return std::string(std::get<0>(test.param)) + "_" +
             std::get<1>(test.param) + "_" + std::get<2>(test.param);
    });

// Its weights, and those of the two files, are the same.
TEST(OneNetwork, LearnsTheSameFromEveryFormat) {
  const auto states = [](const std::string& file, const char* method) {
    MethodContext context;
    context.model = load(file);
    context.update_interval = 16;
    OptionMap changes;
    if (std::string(method) == "sotta")
      changes = {{"min_confidence", 0.5}, {"memory_capacity", int64_t{16}}};
    const auto adapter = make_adapter(method, context, Preset::kClean, changes);
    for (int64_t i = 0; i < 5; ++i)
      adapter->step(testing::golden_stream().slice(0, 16 * i, 16 * (i + 1)));
    return adapter->state();
  };
  for (const char* method : {"tent", "sar", "sotta"}) {
    SCOPED_TRACE(method);
    const ModelState exported = states("exported/tiny.pt2", method);
    const ModelState scripted = states("torchscript/traced.pt", method);
    EXPECT_TRUE(exported.affine.equal(scripted.affine));
    EXPECT_TRUE(exported.running_mean.equal(scripted.running_mean));
    EXPECT_TRUE(exported.running_var.equal(scripted.running_var));
    const ModelState own = states("methods/network.safetensors", method);
    const ModelState source = load("methods/network.safetensors")->source();
    const at::Tensor change = own.affine - source.affine;
    EXPECT_GT(change.abs().max().item<double>(), 1e-4);
    EXPECT_TRUE(
        testing::close(exported.affine - source.affine, change, 1e-6, 1e-2));
    EXPECT_TRUE(testing::close(exported.running_var, own.running_var, 1e-4));
  }
}

TEST(OtherNormLayers, LieBehindBatchNormInAState) {
  const auto model = network("mixed");
  const auto& layers = model->norm_layers();
  ASSERT_EQ(layers.size(), 3u);  // in the order they run
  EXPECT_EQ(layers[0].name, "group");
  EXPECT_EQ(layers[0].kind, NormKind::kGroup);
  EXPECT_EQ(layers[0].offset, 12);
  EXPECT_EQ(layers[1].name, "batch");
  EXPECT_EQ(layers[1].offset, 0);
  EXPECT_EQ(layers[2].kind, NormKind::kLayer);
  EXPECT_EQ(layers[2].offset, 20);
  EXPECT_EQ(model->source().running_mean.numel(), 12);

  const auto tensors = named_norm_tensors(model->source(), layers);
  EXPECT_EQ(tensors.size(), 8u);
  EXPECT_EQ(tensors.count("group.running_mean"), 0u);
}

TEST(OtherNormLayers, WhatIsAdaptedCanBeExportedAndAppliedAgain) {
  const auto model = network("mixed");
  auto adapter = make_adapter("tent", context_of("mixed"), Preset::kClean, {});
  adapter->step(testing::golden_stream().slice(0, 0, 16));

  const TensorFile norm = export_norm(*model, adapter->state());
  const ModelState again = apply_norm(*model, model->source(), norm, "norm");

  EXPECT_FALSE(again.affine.equal(model->source().affine));
  EXPECT_TRUE(again.affine.equal(adapter->state().affine));
}

// None fails but those that say why.
TEST(OtherNormLayers, EveryMethodAdaptsThemOrSaysWhyNot) {
  const std::set<std::pair<std::string, std::string>> refused = {
      {"bn_stats", "layer_norm"},
      {"bn_stats", "group_norm"},
      {"lame", "group_norm"}};
  for (const char* name : {"layer_norm", "group_norm", "mixed"})
    for (const std::string& method : method_names()) {
      SCOPED_TRACE(method + " on " + name);
      const auto steps = [&, name = std::string(name)] {
        auto adapter =
            make_adapter(method, context_of(name), Preset::kClean, {});
        StepResult result;
        for (int64_t i = 0; i < 3; ++i)
          result = adapter->step(
              testing::golden_stream().slice(0, 16 * i, 16 * (i + 1)));
        EXPECT_TRUE(result.logits.isfinite().all().item<bool>());
      };
      if (refused.count({method, name}) == 0)
        steps();
      else
        EXPECT_THROW(steps(), Error);
    }
}

TEST(OtherNormLayers, RefusalsAreOneSentence) {
  testing::expect_error(
      ErrorKind::kInvalid,
      "bn_stats: needs a network with batch norm layers, this one has none",
      [] {
        make_adapter("bn_stats", context_of("layer_norm"), Preset::kClean, {});
      });
  testing::expect_error(
      ErrorKind::kUnsupported,
      "lame: compares inputs of the last linear layer, and this network does "
      "not end in one",
      [] {
        make_adapter("lame", context_of("group_norm"), Preset::kClean, {})
            ->step(testing::golden_stream().slice(0, 0, 16));
      });
}

}  // namespace
}  // namespace sotta
