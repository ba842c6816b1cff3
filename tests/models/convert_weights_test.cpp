#include "models/convert_weights.h"

#include <cmath>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "sotta/data/safetensors.h"
#include "sotta/models/weights.h"

#include "data/tensor.h"
#include "models/resnet.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::TempDir;

std::string golden(const std::string& name) {
  return std::string(testing::golden_dir()) + "/checkpoints/" + name;
}

bool same_bits(const Array& a, const Array& b) {
  return a.type == b.type && a.shape == b.shape &&
         std::memcmp(a.data.get(), b.data.get(),
                     static_cast<size_t>(a.bytes())) == 0;
}

TEST(ConvertWeights, KeepsEveryBit) {
  const TempDir folder;
  const auto output = folder / "out.safetensors";

  const ConvertResult result = convert_weights(golden("zip.pth"), output);

  const auto before = read_torch_checkpoint(golden("zip.pth")).tensors;
  const auto after = read_safetensors(output).tensors;
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [name, array] : before)
    EXPECT_TRUE(same_bits(after.at(name), array)) << name;
  EXPECT_EQ(result.format, "torch");
  EXPECT_EQ(result.tensors, 8);
  EXPECT_EQ(result.parameters, 54 + 3 + 3 + 6 + 2);
  EXPECT_EQ(result.halved, 0);
  EXPECT_EQ(result.bytes,
            static_cast<int64_t>(testing::read_bytes(output).size()));
  EXPECT_TRUE(result.skipped.empty());
}

TEST(ConvertWeights, HalvesWeightsButNotNormLayers) {
  const TempDir folder;
  ConvertOptions options;
  options.half = true;

  const auto result =
      convert_weights(golden("zip.pth"), folder / "out", options);

  const auto after = read_safetensors(folder / "out").tensors;
  EXPECT_EQ(result.halved, 2);
  EXPECT_EQ(after.at("conv.weight").type, ElementType::kFloat16);
  EXPECT_EQ(after.at("fc.weight").type, ElementType::kFloat16);
  for (const char* name :
       {"bn.weight", "bn.bias", "bn.running_mean", "bn.running_var", "fc.bias"})
    EXPECT_EQ(after.at(name).type, ElementType::kFloat32) << name;
  EXPECT_EQ(after.at("bn.num_batches_tracked").type, ElementType::kInt64);
  EXPECT_EQ(to_tensor(after.at("conv.weight")).sum().item<double>(),
            0.5 * 53 * 54 / 2);
}

TEST(ConvertWeights, RefusesWeightsBeyondHalf) {
  const TempDir folder;
  auto [array, memory] = allocate_array(ElementType::kFloat32, {1, 1});
  reinterpret_cast<float*>(memory)[0] = 1e6f;
  TensorFile file;
  file.tensors["fc.weight"] = array;
  write_safetensors(folder / "in", file);
  ConvertOptions options;
  options.half = true;

  expect_error(
      ErrorKind::kInvalid, "\"fc.weight\": a weight is too large",
      [&] { convert_weights(folder / "in", folder / "out", options); });
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST(ConvertWeights, StoresTheNormalisation) {
  const TempDir folder;
  ConvertOptions options;
  options.normalisation = {{0.4914, 0.4822, 0.4465}, {0.25, 0.25, 0.25}};
  convert_weights(golden("zip.pth"), folder / "first", options);
  convert_weights(folder / "first", folder / "second");

  for (const char* name : {"first", "second"}) {
    const auto metadata = read_safetensors(folder / name).metadata;
    EXPECT_EQ(metadata.at("mean"), "0.4914,0.4822,0.4465");
    EXPECT_EQ(metadata.at("std"), "0.25,0.25,0.25");
  }
}

TEST(ConvertWeights, RefusesAnUnusableNormalisation) {
  const auto refuses = [](Normalisation normalisation, const char* part) {
    ConvertOptions options;
    options.normalisation = std::move(normalisation);
    expect_error(ErrorKind::kInvalid, part, [&] {
      convert_weights(golden("zip.pth"), "never_written", options);
    });
  };
  refuses({{0.5}, {}}, "got 1 and 0");
  refuses({{}, {}}, "got 0 and 0");
  refuses({{0.5}, {0}}, "above 0");
  refuses({{std::numeric_limits<double>::infinity()}, {1}}, "finite");
}

TEST(ConvertWeights, TheNormalisationHasToFitTheNetwork) {
  const TempDir folder;
  const ResNetSpec spec = named_resnet("resnet8", 10, 3);
  const auto network = make_resnet(spec, random_resnet_state(spec, Rng(5)),
                                   {{0, 0, 0}, {1, 1, 1}});
  write_safetensors(folder / "in", export_weights(*network, network->source()));
  ConvertOptions options;
  options.normalisation = {{0.5}, {0.5}};
  expect_error(
      ErrorKind::kInvalid, "of the network's 3 channels, got 1 and 1",
      [&] { convert_weights(folder / "in", folder / "out", options); });
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  options.normalisation = {{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}};
  convert_weights(folder / "in", folder / "out", options);
  EXPECT_EQ(read_safetensors(folder / "out").metadata.at("mean"),
            "0.5,0.5,0.5");
}

TEST(ConvertWeights, SaysWhatItLeftOut) {
  const TempDir folder;
  ConvertOptions options;
  options.drop_batch_counts = true;

  const auto result =
      convert_weights(golden("nested.pth"), folder / "out", options);

  EXPECT_EQ(result.key, "state_dict");
  EXPECT_EQ(result.tensors, 7);
  EXPECT_EQ(result.skipped,
            (std::vector<std::string>{"epoch (number)", "best (number)",
                                      "arch (text)",
                                      "bn.num_batches_tracked (batch count)"}));
}

TEST(ConvertWeights, RefusesAFileWithoutTensors) {
  const TempDir folder;
  write_safetensors(folder / "empty", {});
  TensorFile counts;
  counts.tensors["bn.num_batches_tracked"] =
      allocate_array(ElementType::kInt64, {}).array;
  write_safetensors(folder / "counts", counts);
  ConvertOptions options;
  options.drop_batch_counts = true;

  for (const char* name : {"empty", "counts"})
    expect_error(
        ErrorKind::kInvalid, "expected tensors to convert, got none",
        [&] { convert_weights(folder / name, folder / "out", options); });
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST(ConvertWeights, MayReplaceItsInput) {
  const TempDir folder;
  convert_weights(golden("zip.pth"), folder / "x");
  const std::string before = testing::read_bytes(folder / "x");
  convert_weights(folder / "x", folder / "x");
  EXPECT_EQ(testing::read_bytes(folder / "x"), before);
}

TEST(ConvertWeights, LeavesTheOutputAloneWhenTheInputIsBad) {
  const TempDir folder;
  folder.write("out", "precious");
  EXPECT_THROW(convert_weights(golden("whole_model.pth"), folder / "out"),
               Error);
  EXPECT_EQ(testing::read_bytes(folder / "out"), "precious");
}

TEST(ConvertWeights, HalvesFloatsOfTwoDimensionsOrMoreAndNothingElse) {
  const TempDir folder;
  TensorFile file;
  const auto put = [&](const char* name, ElementType type,
                       std::vector<int64_t> shape) {
    auto made = allocate_array(type, std::move(shape));
    std::memset(made.writable, 0, static_cast<size_t>(made.array.bytes()));
    file.tensors[name] = made.array;
  };
  put("a.weight", ElementType::kFloat32, {2, 1});
  put("a.bias", ElementType::kFloat32, {2});
  put("count", ElementType::kInt64, {2, 2});
  put("n.running_mean", ElementType::kFloat32, {2});
  put("n.weight", ElementType::kFloat32, {2, 1});
  put("n.more.weight", ElementType::kFloat32, {2, 1});
  write_safetensors(folder / "in", file);
  ConvertOptions options;
  options.half = true;

  const auto result = convert_weights(folder / "in", folder / "out", options);

  const auto after = read_safetensors(folder / "out").tensors;
  EXPECT_EQ(result.halved, 2);
  EXPECT_EQ(after.at("a.weight").type, ElementType::kFloat16);
  EXPECT_EQ(after.at("n.more.weight").type, ElementType::kFloat16);
  EXPECT_EQ(after.at("a.bias").type, ElementType::kFloat32);
  EXPECT_EQ(after.at("n.weight").type, ElementType::kFloat32);
  EXPECT_EQ(after.at("count").type, ElementType::kInt64);
  EXPECT_EQ(result.parameters, 2 + 2 + 4 + 2 + 2);
}

TEST(ConvertWeights, KeepsTheLargestHalfAndWhatIsInfinite) {
  const TempDir folder;
  ConvertOptions options;
  options.half = true;
  const auto convert = [&](float value) {
    auto made = allocate_array(ElementType::kFloat32, {1, 1});
    reinterpret_cast<float*>(made.writable)[0] = value;
    TensorFile file;
    file.tensors["w"] = made.array;
    write_safetensors(folder / "in", file);
    convert_weights(folder / "in", folder / "out", options);
    return to_tensor(read_safetensors(folder / "out").tensors.at("w"))
        .item<double>();
  };
  EXPECT_EQ(convert(65504), 65504);
  EXPECT_EQ(convert(INFINITY), INFINITY);
  expect_error(ErrorKind::kInvalid,
               "in, tensor \"w\": a weight is too large for float16 (65504 at "
               "most)",
               [&] { convert(65520); });
}

}  // namespace
}  // namespace sotta
