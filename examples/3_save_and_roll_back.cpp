// Save an adapter, roll it back, carry on elsewhere, and export what it learnt.
//   3_save_and_roll_back models/fashion_resnet8.safetensors [data root]
#include <cstdio>
#include <filesystem>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/data/dataset.h"
#include "sotta/engine/open_model.h"

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s WEIGHTS [DATA_ROOT]\n", argv[0]);
    return 2;
  }
  sotta::MethodContext context;
  context.model = sotta::open_model(argv[1]);
  const auto adapter = sotta::make_adapter("sotta", context);
  const auto data =
      sotta::open_dataset("fashion-mnist", argc > 2 ? argv[2] : "data");
  const auto learn = [&](sotta::Adapter& learner, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i += 64)
      learner.step(data->range(i, i + 64).images.div(2, "trunc"));
  };
  const auto folder = std::filesystem::temp_directory_path();

  // A good moment, kept in memory and on disk.
  learn(*adapter, 0, 512);
  const sotta::Snapshot good = adapter->snapshot();
  sotta::write_snapshot(folder / "good.safetensors", good);

  // Something went wrong? Back to it, bit for bit.
  learn(*adapter, 512, 1024);
  adapter->restore(good);
  std::printf("rolled back to %ld samples\n", adapter->samples());

  // Another process takes over where this one stopped.
  const auto successor = sotta::make_adapter("sotta", context);
  successor->restore(sotta::read_snapshot(folder / "good.safetensors"));
  learn(*adapter, 512, 640);
  learn(*successor, 512, 640);
  std::printf(
      "same bits after a restart: %s\n",
      adapter->state().affine.equal(successor->state().affine) ? "yes" : "no");

  // As full weights for any program, or only what adaptation changed.
  const auto& model = adapter->model();
  const auto full = folder / "adapted.safetensors";
  const auto delta = folder / "adapted_norm.safetensors";
  sotta::write_safetensors(full, export_weights(model, adapter->state()));
  sotta::write_safetensors(delta, export_norm(model, adapter->state()));
  std::printf("full weights %ju bytes, norm layers alone %ju bytes\n",
              std::filesystem::file_size(full),
              std::filesystem::file_size(delta));
} catch (const sotta::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
