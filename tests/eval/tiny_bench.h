#pragma once

#include <string>

#include "sotta/core/rng.h"
#include "sotta/data/safetensors.h"
#include "sotta/eval/grid.h"
#include "sotta/models/weights.h"

#include "models/resnet.h"
#include "tests/support/temp_dir.h"

namespace sotta::testing {

// A data root with a small CIFAR-10 and MNIST of random pixels, and a small
// network of random weights: enough to run every part of a benchmark in
// seconds.
class TinyBench {
 public:
  explicit TinyBench(int64_t images = 48, uint64_t model_seed = 5) {
    Rng rng(3);
    std::string records;
    for (int64_t i = 0; i < images; ++i) {
      records += static_cast<char>(i % 10);
      for (int pixel = 0; pixel < 3072; ++pixel)
        records += static_cast<char>(rng.below(256));
    }
    dir_.write("cifar-10-batches-bin/test_batch.bin", records);
    write_mnist(images, rng);

    const ResNetSpec spec = small_spec();
    const auto network =
        make_resnet(spec, random_resnet_state(spec, Rng(model_seed)),
                    {{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}});
    write_safetensors(dir_ / "model.safetensors",
                      export_weights(*network, network->source()));
  }

  const std::filesystem::path& root() const { return dir_.path(); }
  std::string model() const { return (dir_ / "model.safetensors").string(); }

  // Two methods on one clean stream of two windows and a half; change at will.
  Grid grid() const {
    Grid grid;
    grid.dataset = "cifar10";
    grid.model = model();
    grid.rows = {{"", "bn_stats", {}}, {"", "sotta", {}}};
    grid.scenarios = {"noise"};
    grid.corruptions = {"none"};
    grid.stream.limit = 20;
    grid.stream.window = 16;
    return grid;
  }

  // The same on two seeds of two scenarios: four streams of two cells.
  Grid eight_cells() const {
    Grid eight = grid();
    eight.scenarios = {"benign", "noise"};
    eight.seeds = {0, 1};
    return eight;
  }

 private:
  static ResNetSpec small_spec() {
    ResNetSpec spec;
    spec.widths = {4, 8};
    spec.blocks = {1, 1};
    return spec;
  }

  void write_mnist(int64_t images, Rng& rng) const {
    const auto number = [](int64_t value) {
      std::string bytes;
      for (const int shift : {24, 16, 8, 0})
        bytes += static_cast<char>((value >> shift) & 255);
      return bytes;
    };
    std::string pixels =
        number(0x803) + number(images) + number(28) + number(28);
    std::string labels = number(0x801) + number(images);
    for (int64_t i = 0; i < images; ++i) {
      labels += static_cast<char>(i % 10);
      for (int pixel = 0; pixel < 784; ++pixel)
        pixels += static_cast<char>(rng.below(256));
    }
    dir_.write("mnist/t10k-images-idx3-ubyte", pixels);
    dir_.write("mnist/t10k-labels-idx1-ubyte", labels);
  }

  TempDir dir_;
};

// A record without what differs from run to run.
inline RunRecord timeless(RunRecord record) {
  record.seconds = record.adapt_seconds = record.images_per_second = 0;
  record.peak_memory_bytes = record.threads = 0;
  return record;
}

}  // namespace sotta::testing
