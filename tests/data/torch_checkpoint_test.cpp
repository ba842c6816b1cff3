#include "data/torch/torch_checkpoint.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "data/formats/mapped_file.h"
#include "data/tensor.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden_dir.h"
#include "tests/support/pickle_builder.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::make_checkpoint;
using testing::pickled;
using testing::pickled_dict;
using testing::PickledTensor;

std::string golden(const std::string& name) {
  return std::string(testing::golden_dir()) + "/checkpoints/" + name;
}

TorchCheckpoint parse(const std::string& file,
                      const CheckpointOptions& options = {}) {
  const SharedBytes bytes = borrow_bytes(
      reinterpret_cast<const std::byte*>(file.data()), file.size());
  return parse_torch_checkpoint(bytes.data, bytes.size, "test.pth", options);
}

// start, start + 0.5, start + 1, ... as tools/make_checkpoint_golden.py has it.
void expect_ramp(const Array& array, std::vector<int64_t> shape, float start) {
  ASSERT_EQ(array.shape, shape);
  const at::Tensor values = to_tensor(array).to(at::kFloat).reshape({-1});
  for (int64_t i = 0; i < array.count(); ++i)
    EXPECT_EQ(values[i].item<float>(), start + 0.5f * static_cast<float>(i));
}

void expect_golden_state(const TorchCheckpoint& checkpoint) {
  const auto& tensors = checkpoint.tensors;
  ASSERT_EQ(tensors.size(), 8u);
  expect_ramp(tensors.at("conv.weight"), {3, 2, 3, 3}, 0);
  expect_ramp(tensors.at("bn.weight"), {3}, 1);
  expect_ramp(tensors.at("bn.bias"), {3}, 2);
  expect_ramp(tensors.at("bn.running_mean"), {3}, 3);
  expect_ramp(tensors.at("bn.running_var"), {3}, 4);
  expect_ramp(tensors.at("fc.weight"), {2, 3}, 6);
  expect_ramp(tensors.at("fc.bias"), {2}, 7);
  const Array& batches = tensors.at("bn.num_batches_tracked");
  EXPECT_TRUE(batches.shape.empty());
  ASSERT_EQ(batches.type, ElementType::kInt64);
  EXPECT_EQ(*batches.as<int64_t>(), 7);
}

TEST(TorchCheckpoint, ReadsEveryFormat) {
  for (const char* name : {"zip.pth", "legacy.pth", "protocol4.pth"}) {
    const TorchCheckpoint checkpoint = read_torch_checkpoint(golden(name));
    expect_golden_state(checkpoint);
    EXPECT_TRUE(checkpoint.skipped.empty());
    EXPECT_EQ(checkpoint.key, "");
  }
}

TEST(TorchCheckpoint, FindsTheModelAmongOtherThings) {
  const TorchCheckpoint checkpoint =
      read_torch_checkpoint(golden("nested.pth"));
  expect_golden_state(checkpoint);
  EXPECT_EQ(checkpoint.key, "state_dict");
  EXPECT_EQ(checkpoint.skipped,
            (std::vector<std::string>{"epoch (number)", "best (number)",
                                      "arch (text)"}));
}

TEST(TorchCheckpoint, AsksWhichOfTwoModels) {
  expect_error(ErrorKind::kInvalid, "\"model\", \"net\"",
               [] { read_torch_checkpoint(golden("two_models.pth")); });
  CheckpointOptions options;
  options.key = "net";
  const auto checkpoint =
      read_torch_checkpoint(golden("two_models.pth"), options);
  expect_golden_state(checkpoint);
  EXPECT_EQ(checkpoint.skipped,
            (std::vector<std::string>{"model (dict)", "epoch (number)"}));
  options.key = "epoch";
  expect_error(ErrorKind::kInvalid, "under the key \"epoch\"", [&] {
    read_torch_checkpoint(golden("two_models.pth"), options);
  });
}

TEST(TorchCheckpoint, StripsPrefixes) {
  expect_golden_state(read_torch_checkpoint(golden("parallel.pth")));
  CheckpointOptions options;
  options.strip = "module.conv.";
  const auto tensors =
      read_torch_checkpoint(golden("parallel.pth"), options).tensors;
  EXPECT_EQ(tensors.count("weight"), 1u);
  EXPECT_EQ(tensors.count("module.fc.weight"), 1u);
}

TEST(TorchCheckpoint, UnwrapsParameters) {
  const auto checkpoint = read_torch_checkpoint(golden("parameters.pth"));
  expect_ramp(checkpoint.tensors.at("weight"), {2, 2}, 0);
}

TEST(TorchCheckpoint, MakesViewsDense) {
  for (const char* name : {"views.pth", "views_legacy.pth"}) {
    const auto tensors = read_torch_checkpoint(golden(name)).tensors;
    ASSERT_EQ(tensors.size(), 7u);
    const at::Tensor base = to_tensor(tensors.at("whole"));
    expect_ramp(tensors.at("whole"), {4, 6}, 0);
    expect_ramp(tensors.at("row"), {6}, 6);
    expect_ramp(tensors.at("scalar"), {}, 2.5);
    EXPECT_TRUE(to_tensor(tensors.at("transposed")).equal(base.t()));
    EXPECT_TRUE(to_tensor(tensors.at("sliced"))
                    .equal(base.slice(0, 1, 3).slice(1, 2, 5)));
    EXPECT_TRUE(to_tensor(tensors.at("stepped")).equal(base.slice(1, 0, 6, 2)));
    EXPECT_EQ(tensors.at("empty").shape, (std::vector<int64_t>{0, 3}));
  }
}

TEST(TorchCheckpoint, KeepsOrConvertsElementTypes) {
  for (const char* name : {"types.pth", "types_legacy.pth"}) {
    const auto tensors = read_torch_checkpoint(golden(name)).tensors;
    const auto type = [&](const char* tensor) {
      return tensors.at(tensor).type;
    };
    EXPECT_EQ(type("float16"), ElementType::kFloat16);
    EXPECT_EQ(type("bfloat16"), ElementType::kBfloat16);
    EXPECT_EQ(type("uint8"), ElementType::kUint8);
    EXPECT_EQ(type("int64"), ElementType::kInt64);
    EXPECT_EQ(type("float64"), ElementType::kFloat32);
    EXPECT_EQ(type("int32"), ElementType::kInt64);
    for (const char* ramp : {"float16", "bfloat16", "float64"})
      expect_ramp(tensors.at(ramp), {5}, 0);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(tensors.at("uint8").as<uint8_t>()[i], i);
      EXPECT_EQ(tensors.at("int64").as<int64_t>()[i], i - 2);
      EXPECT_EQ(tensors.at("int32").as<int64_t>()[i], i - 2);
    }
  }
}

TEST(TorchCheckpoint, RefusesWhatItDoesNotTake) {
  const auto refuses = [](const char* name, const char* part) {
    expect_error(ErrorKind::kUnsupported, part,
                 [&] { read_torch_checkpoint(golden(name)); });
  };
  refuses("bool.pth", "tensor \"mask\" has elements of bool");
  refuses("expanded.pth", "tensor \"weight\" of 300 elements");
  refuses("tensor.pth", "expected a dict of tensors, got a single tensor");
  refuses("whole_model.pth", "\"torch.nn.modules.linear.Linear\"");
  refuses("torchscript.pt", "TorchScript");
}

TEST(TorchCheckpoint, NeverRunsWhatAPickleNames) {
  const std::string attack = "cos\nsystem\n" + pickled("touch owned") + "\x85R";
  const std::string tensor = pickled(PickledTensor{});
  expect_error(ErrorKind::kUnsupported, "\"os.system\"", [&] {
    parse(make_checkpoint(
        pickled_dict({pickled("weight"), tensor, pickled("x"), attack}),
        std::string(24, 'x')));
  });
}

TEST(TorchCheckpoint, RefusesDictsWithoutTensors) {
  expect_error(ErrorKind::kInvalid, "got none",
               [] { parse(make_checkpoint("}", "")); });
  expect_error(ErrorKind::kInvalid, "\"ema\"", [] {
    parse(make_checkpoint(
        pickled_dict(
            {pickled("ema"),
             pickled_dict({pickled("weight"), pickled(PickledTensor{})})}),
        std::string(24, 'x')));
  });
}

TEST(TorchCheckpoint, KnowsTheUsualNamesOfAModel) {
  for (const char* key : {"state_dict", "model_state_dict", "model", "net",
                          "network", "model_state", "weights"})
    EXPECT_EQ(
        parse(make_checkpoint(
                  pickled_dict(
                      {pickled(key), pickled_dict({pickled("weight"),
                                                   pickled(PickledTensor{})})}),
                  std::string(24, 'x')))
            .key,
        key);
}

TEST(TorchCheckpoint, RefusesTheSameNameTwice) {
  const std::string tensor = pickled(PickledTensor{});
  expect_error(ErrorKind::kBadFormat, "two tensors are named \"w\"", [&] {
    parse(make_checkpoint(
        pickled_dict({pickled("w"), tensor, pickled("w"), tensor}),
        std::string(24, 'x')));
  });
}

TEST(TorchCheckpoint, SkipsTensorsWithoutAName) {
  const std::string tensor = pickled(PickledTensor{});
  const auto checkpoint = parse(
      make_checkpoint(pickled_dict({pickled("w"), tensor, pickled(3), tensor}),
                      std::string(24, 'x')));
  EXPECT_EQ(checkpoint.tensors.size(), 1u);
  EXPECT_EQ(checkpoint.skipped, std::vector<std::string>{"3 (tensor)"});
}

TEST(TorchCheckpoint, TruncatedAnywhereIsAnError) {
  for (const char* name : {"zip.pth", "legacy.pth", "views_legacy.pth"}) {
    const std::string file = testing::read_bytes(golden(name));
    for (size_t size = 0; size < file.size(); ++size)
      expect_error(ErrorKind::kBadFormat, "test.pth",
                   [&] { parse(file.substr(0, size)); });
  }
}

TEST(TorchCheckpoint, AnyFlippedByteIsAnErrorOrReadable) {
  for (const char* name : {"zip.pth", "legacy.pth"}) {
    std::string file = testing::read_bytes(golden(name));
    for (char& byte : file) {
      byte = static_cast<char>(~byte);
      try {
        parse(file);
      } catch (const Error& error) {
        EXPECT_NE(std::strlen(error.what()), 0u);
      }
      byte = static_cast<char>(~byte);
    }
  }
}

}  // namespace
}  // namespace sotta
