#pragma once

#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

namespace sotta::bench {

// CIFAR's ResNet18 written the ordinary LibTorch way, as the yardstick.
struct BareBlockImpl : torch::nn::Module {
  BareBlockImpl(int64_t inputs, int64_t outputs, int64_t stride)
      : conv1(register_module("conv1", conv(inputs, outputs, 3, stride))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(outputs))),
        conv2(register_module("conv2", conv(outputs, outputs, 3, 1))),
        bn2(register_module("bn2", torch::nn::BatchNorm2d(outputs))) {
    if (stride == 1 && inputs == outputs) return;
    shortcut = register_module("shortcut", conv(inputs, outputs, 1, stride));
    shortcut_bn =
        register_module("shortcut_bn", torch::nn::BatchNorm2d(outputs));
  }

  at::Tensor forward(const at::Tensor& input) {
    at::Tensor output = bn1(conv1(input)).relu_();
    output = bn2(conv2(output));
    output += shortcut.is_empty() ? input : shortcut_bn(shortcut(input));
    return output.relu_();
  }

  static torch::nn::Conv2d conv(int64_t inputs, int64_t outputs, int64_t kernel,
                                int64_t stride) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(inputs, outputs, kernel)
                                 .stride(stride)
                                 .padding(kernel / 2)
                                 .bias(false));
  }

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  torch::nn::Conv2d shortcut{nullptr};
  torch::nn::BatchNorm2d shortcut_bn{nullptr};
};
TORCH_MODULE(BareBlock);

struct BareResNet18 : torch::nn::Module {
  BareResNet18() {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("fc", fc);
    int64_t inputs = 64;
    for (const int64_t width : {64, 128, 256, 512})
      for (const int64_t index : {0, 1}) {
        const int64_t stride = index == 0 && width > 64 ? 2 : 1;
        blocks.push_back(
            register_module("block" + std::to_string(blocks.size()),
                            BareBlock(inputs, width, stride)));
        inputs = width;
      }
  }

  at::Tensor forward(const at::Tensor& images) {
    at::Tensor x = bn1(conv1(images)).relu_();
    for (auto& block : blocks)
      x = block(x);
    return fc(x.mean(at::IntArrayRef({2, 3})));
  }

  torch::nn::Conv2d conv1 = BareBlockImpl::conv(3, 64, 3, 1);
  torch::nn::BatchNorm2d bn1{64};
  std::vector<BareBlock> blocks;
  torch::nn::Linear fc{512, 10};
};

}  // namespace sotta::bench
