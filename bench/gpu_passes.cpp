// Where the time of ResNet18-CIFAR's passes on a GPU goes: the whole pass, then
// its convolutions and its norm layers alone, in microseconds. A pass over 64
// images, or over several lanes of 64 at once, is a CUDA graph; a layer's time
// is that of a row of it in a CUDA graph, convolution and norm layer together
// (fused, where they are) less the convolution alone. What is left of the pass
// is input, pooling, the last layer, loss, and waiting between kernels. Beside
// them what an H200's tensor cores take for the products, and its memory for
// reading and writing what norm layers must.
//   gpu_passes [DEVICE, default cuda] [LANES, default 1]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"
#include "sotta/core/rng.h"
#include "sotta/engine/engine.h"
#include "sotta/gpu/device.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "gpu/cuda_graph.h"
#include "gpu/kernels/norm_rows.h"
#include "gpu/kernels/pixel_rows.h"
#include "gpu/settings_scope.h"
#include "models/resnet.h"
#include "models/resnet_plan.h"
#include "nn/conv_norm.h"

namespace sotta::bench {
namespace {

constexpr int64_t kImages = 64, kSide = 32;
constexpr int kRow = 10;  // of a layer, in a graph
constexpr int kLaunches = 10, kRuns = 21;

// An H200, without sparsity.
constexpr double kTf32PerSecond = 494.7e12, kBf16PerSecond = 989.4e12,
                 kBytesPerSecond = 4.8e12;

// The median, in microseconds, of work that is captured.
double microseconds(const std::function<void()>& work, at::Device gpu) {
  CudaGraph graph(work, gpu, /*capture=*/true, /*warm_up_runs=*/3);
  std::vector<double> times;
  for (int run = 0; run < kRuns; ++run) {
    if (run == 0)
      for (int i = 0; i < 5; ++i)
        graph.run();  // set up and captured
    wait_for(gpu);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i)
      graph.run();
    wait_for(gpu);
    const std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - begin;
    times.push_back(took.count() / kLaunches);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Setting {
  at::Device gpu;
  Precision precision;
  int64_t lanes;

  bool coarse() const { return precision == Precision::kBfloat16; }
  int64_t images() const { return lanes * kImages; }
};

struct Layer {
  int64_t from, to, kernel, stride, side;  // side: of the input
  bool residual = false, relu = true;
  bool forked = false;  // its output has two readers
  bool is_stem = false;

  int64_t out() const { return side / stride; }
};

std::vector<Layer> layers_of(const ResNetPlan& plan) {
  std::vector<Layer> layers;
  int64_t side = kSide;
  const auto shape_of = [&](const ConvNorm& layer) {
    const auto& shape = plan.body[layer.conv].shape;
    return Layer{shape[1], shape[0], shape[2], layer.stride, side};
  };
  layers.push_back(shape_of(plan.stem));
  layers.back().is_stem = layers.back().forked = true;
  for (const auto& block : plan.blocks) {
    if (block.shortcut) {
      layers.push_back(shape_of(*block.shortcut));
      layers.back().relu = false;
    }
    for (const auto& layer : block.path) {
      layers.push_back(shape_of(layer));
      side = layers.back().out();
    }
    layers.back().residual = layers.back().forked = true;
  }
  layers.back().forked = false;
  return layers;
}

// Microseconds of a layer's parts, or of all layers.
struct Parts {
  double conv = 0, conv_back = 0;
  double norm_predicting = 0, norm = 0, norm_back = 0;
  double products = 0, products_back = 0;  // each two flops
  double bytes_predicting = 0, bytes = 0, bytes_back = 0;

  void add(const Parts& more) {
    for (double Parts::*part :
         {&Parts::conv, &Parts::conv_back, &Parts::norm_predicting,
          &Parts::norm, &Parts::norm_back, &Parts::products,
          &Parts::products_back, &Parts::bytes_predicting, &Parts::bytes,
          &Parts::bytes_back})
      this->*part += more.*part;
  }
};

class LayerBench {
 public:
  LayerBench(const Layer& layer, const Setting& setting)
      : layer_(layer),
        setting_(setting),
        input_(drawn({setting.images(), width(), layer.side, layer.side})),
        kernels_(drawn({layer.to, width(), layer.kernel, layer.kernel})),
        output_(drawn({setting.images(), layer.to, layer.out(), layer.out()})) {
    if (!layer.is_stem) packed_ = packed_kernels(kernels_, layer.stride);
    after_ = {layer.residual ? output_ : at::Tensor(), layer.relu};
    const auto ones = [&] { return at::ones({lanes(), layer.to}, floats()); };
    const auto vector = [&](const at::Tensor& values) {
      return lanes() == 1 ? values[0] : values;
    };
    vectors_ = {vector(ones()), vector(ones()), vector(ones()),
                vector(ones()), vector(ones()), vector(ones())};
  }

  Parts run() const {
    const at::NoGradGuard no_gradients;
    Parts parts;
    parts.conv = time([&] { convolve(); });
    parts.norm_predicting =
        time([&] { both(vectors_, NormStats::running()); }) - parts.conv;
    parts.norm = time([&] { both_for_gradients(); }) - parts.conv;
    const NormBackward back = backward();
    parts.norm_back = time([&] { run_rows(back); });
    if (!layer_.is_stem) parts.conv_back = time([&] { convolve_back(); });
    count(parts);
    return parts;
  }

 private:
  int64_t lanes() const { return setting_.lanes; }
  at::ScalarType type() const {
    return setting_.coarse() ? at::kBFloat16 : at::kFloat;
  }
  // Of the input: the stem's pixels are widened.
  int64_t width() const {
    return layer_.is_stem ? pixel_row_width(type()) : layer_.from;
  }
  at::TensorOptions floats() const {
    return at::TensorOptions(setting_.gpu).dtype(at::kFloat);
  }

  at::Tensor drawn(at::IntArrayRef shape) const {
    return at::randint(-8, 8, shape, floats())
        .div_(8)
        .to(type())
        .contiguous(at::MemoryFormat::ChannelsLast);
  }

  double time(const std::function<void()>& work) const {
    const auto row = [&] {
      for (int i = 0; i < kRow; ++i)
        work();
    };
    return microseconds(row, setting_.gpu) / kRow;
  }

  at::Tensor convolve() const {
    return convolution(input_, kernels_, layer_.stride, padding(), packed_);
  }

  void both(const NormVectors& vectors, NormStats stats) const {
    if (fused_conv_norm(input_, {packed_, layer_.stride, padding()}, vectors,
                        stats, after_))
      return;
    norm_relu(convolve(), vectors, stats, after_);
  }

  // Leaves behind what a backward pass needs.
  void both_for_gradients() const {
    const at::AutoGradMode with_gradients(true);
    NormVectors trained = vectors_;
    trained.scale = as_leaf(vectors_.scale);
    both(trained, NormStats::batch());
  }

  void convolve_back() const {
    if (packed_.back.defined() && layer_.stride == 1) {
      own_convolution(output_, {packed_.back, packed_.there});
      return;
    }
    const std::vector<int64_t> stride(2, layer_.stride), border(2, padding());
    at::convolution_backward(output_, input_, kernels_,
                             /*bias_sizes=*/at::OptionalIntArrayRef(), stride,
                             border, /*dilation=*/{1, 1}, /*transposed=*/false,
                             /*output_padding=*/{0, 0}, /*groups=*/1,
                             /*output_mask=*/{true, false, false});
  }

  NormBackward backward() const {
    NormBackward pass;
    pass.input = output_;
    pass.gradient = output_.clone();
    if (layer_.forked) pass.second_gradient = output_.clone();
    if (layer_.relu) pass.kept = empty_kept(output_).fill_(255);
    pass.scale = vectors_.scale;
    pass.trace = {vectors_.running_mean, vectors_.running_var,
                  vectors_.batch_mean};
    pass.batch_share = 1;
    pass.input_gradient = at::empty_like(output_);
    if (layer_.residual) pass.residual_gradient = at::empty_like(output_);
    pass.scale_gradient = at::empty_like(vectors_.scale);
    pass.shift_gradient = at::empty_like(vectors_.scale);
    return pass;
  }

  // Forward a fused convolution writes what it must; a measured one's output is
  // read, and written normalised with a bit per value for the ReLU. Backward a
  // layer reads its gradients, its input and those bits, and writes gradients.
  void count(Parts& parts) const {
    parts.products = static_cast<double>(output_.numel() * layer_.from *
                                         layer_.kernel * layer_.kernel);
    parts.products_back = layer_.is_stem ? 0 : parts.products;
    const auto values = static_cast<double>(output_.numel());
    const auto size = static_cast<double>(output_.element_size());
    const double added = layer_.residual ? 1 : 0,
                 forked = layer_.forked ? 1 : 0,
                 kept = layer_.relu ? 1.0 / 8 : 0;
    parts.bytes_predicting =
        values * size * (added + (packed_.there.defined() ? 0 : 2));
    parts.bytes = values * (size * (2 + added) + kept);
    parts.bytes_back = values * (size * (3 + forked + added) + kept);
  }

  int64_t padding() const { return (layer_.kernel - 1) / 2; }

  Layer layer_;
  Setting setting_;
  at::Tensor input_, kernels_, output_;
  PackedKernels packed_;
  AfterNorm after_;
  NormVectors vectors_;
};

struct Passes {
  double predicting, adapting;
};

Passes time_passes(const ResNetSpec& spec, const Setting& setting) {
  const auto model = choose_engine(make_resnet(
      spec, random_resnet_state(spec, Rng(0)).to(setting.gpu),
      {{0.49, 0.48, 0.45}, {0.25, 0.24, 0.26}}, {setting.precision}));
  std::vector<Lane> lanes;
  std::vector<at::Tensor> leaves;
  for (int64_t i = 0; i < setting.lanes; ++i) {
    ModelState state = model->source().clone_norm();
    state.affine = as_leaf(state.affine);
    leaves.push_back(state.affine);
    const at::Tensor images =
        at::randint(256, {kImages, 3, kSide, kSide},
                    at::TensorOptions(setting.gpu).dtype(at::kByte));
    lanes.push_back({images, state, NormStats::running()});
  }
  Passes times{};
  times.predicting = microseconds(
      [&] {
        const at::NoGradGuard no_gradients;
        model->forward_lanes(lanes);
      },
      setting.gpu);
  for (Lane& lane : lanes)
    lane.stats = NormStats::batch();
  times.adapting = microseconds(
      [&] {
        at::Tensor loss;
        for (const auto& result : model->forward_lanes(lanes)) {
          const at::Tensor own = entropy(result.logits).mean();
          loss = loss.defined() ? loss + own : own;
        }
        gradients_of(loss, leaves);
      },
      setting.gpu);
  return times;
}

void show(const Setting& setting) {
  const ResNetSpec spec = named_resnet("resnet18", 10);
  const SettingsScope scope({setting.precision}, setting.gpu);
  Parts all;
  for (const Layer& layer : layers_of(ResNetPlan(spec)))
    all.add(LayerBench(layer, setting).run());
  const Passes passes = time_passes(spec, setting);

  const double per_second = setting.coarse() ? kBf16PerSecond : kTf32PerSecond;
  const auto row = [&](const char* name, double pass, double conv, double norm,
                       double products, double bytes) {
    std::printf("| `%s`, %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n",
                to_text(setting.precision), name, pass, conv, norm,
                pass - conv - norm, 1e6 * 2 * products / per_second,
                1e6 * bytes / kBytesPerSecond);
  };
  row("predicting", passes.predicting, all.conv, all.norm_predicting,
      all.products, all.bytes_predicting);
  row("forward and backward", passes.adapting, all.conv + all.conv_back,
      all.norm + all.norm_back, all.products + all.products_back,
      all.bytes + all.bytes_back);
  row("SoTTA's window: one, and two of the other",
      passes.predicting + 2 * passes.adapting, 3 * all.conv + 2 * all.conv_back,
      all.norm_predicting + 2 * (all.norm + all.norm_back),
      3 * all.products + 2 * all.products_back,
      all.bytes_predicting + 2 * (all.bytes + all.bytes_back));
  std::fflush(stdout);
}

void show_all(const char* device, int64_t lanes) {
  const at::Device gpu = parse_device(device);
  require(gpu.is_cuda(), "gpu_passes", "needs a GPU");
  require(lanes > 0, "gpu_passes", "needs a lane");
  std::printf(
      "%d lanes of %d images, microseconds\n\n"
      "| | pass | convolutions | norm layers | rest | products at their limit "
      "| norm layers' memory at its limit |\n|---|---|---|---|---|---|---|\n",
      static_cast<int>(lanes), static_cast<int>(kImages));
  for (const Precision precision : {Precision::kTf32, Precision::kBfloat16})
    show({gpu, precision, lanes});
}

}  // namespace
}  // namespace sotta::bench

int main(int argc, char** argv) try {
  sotta::bench::show_all(argc > 1 ? argv[1] : "cuda",
                         argc > 2 ? std::atoll(argv[2]) : 1);
} catch (const std::exception& error) {
  std::fprintf(stderr, "gpu_passes: %s\n", error.what());
  return 2;
}
