// Runs one network as a program of one's own would, for
// tools/check_networks.py:
//
//   sotta_step_network NETWORK.pt IMAGES.npy WINDOW OUT.safetensors SPEC...
//
// IMAGES.npy is float32 [N, C, H, W] in [0, 1] and goes into the network as it
// is. A SPEC is a method with changes of its options, "tent:optimiser=adam",
// and steps over all images in windows. OUT.safetensors receives "logits" of
// the first window with running statistics and, of every SPEC in turn, its norm
// layers when it is done, as "0:layer1.0.bn1.weight".
//
// Prints a JSON object a line: {"load": ...} with the network's classes and
// norm layers, then {"step": SPEC, ...} with its updates. "refused" is the
// sentence of an Error, "internal" that of any other exception. A process that
// crashed has printed the lines before.
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ATen/ops/isfinite.h>
#include <nlohmann/json.hpp>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"

#include "data/formats/npy.h"
#include "data/tensor.h"
#include "method_flags.h"
#include "models/network_file.h"

namespace {

using nlohmann::json;

void say(const json& line) {
  std::puts(line.dump().c_str());
  std::fflush(stdout);
}

// What `work` has to say, or what kept it from saying it.
template <class Work>
json outcome_of(const Work& work) {
  try {
    return work();
  } catch (const sotta::Error& error) {
    return {{"refused", error.what()}};
  } catch (const std::exception& error) {
    return {{"internal", error.what()}};
  }
}

std::string to_text(sotta::NormKind kind) {
  switch (kind) {
    case sotta::NormKind::kBatch:
      return "batch";
    case sotta::NormKind::kLayer:
      return "layer";
    case sotta::NormKind::kGroup:
      return "group";
    case sotta::NormKind::kInstance:
      return "instance";
  }
  return "unknown";
}

json describe(const sotta::Classifier& network) {
  std::map<std::string, int> norms;
  for (const auto& norm : network.norm_layers())
    ++norms[to_text(norm.kind)];
  return {{"classes", network.classes()}, {"norms", norms}};
}

std::unique_ptr<sotta::Adapter> make_adapter(
    const std::shared_ptr<const sotta::Classifier>& network, int64_t window,
    const std::string& spec) {
  sotta::MethodContext context;
  context.model = network;
  context.rng = sotta::Rng(1);
  context.update_interval = window;
  sotta::cli::MethodFlags flags;
  flags.method = spec.substr(0, spec.find(':'));
  for (size_t at = flags.method.size(); at < spec.size();) {
    const size_t end = std::min(spec.find(',', at + 1), spec.size());
    flags.changes.push_back(spec.substr(at + 1, end - at - 1));
    at = end;
  }
  return sotta::make_adapter(
      flags.method, context, sotta::Preset::kClean,
      sotta::cli::parse_method_changes(flags, network->classes()));
}

json step(sotta::Adapter& adapter, const at::Tensor& images,
          const std::string& prefix, sotta::TensorFile& out) {
  adapter.step(images);
  const sotta::ModelState state = adapter.state();
  for (const auto& [name, tensor] :
       named_norm_tensors(state, adapter.model().norm_layers()))
    out.tensors[prefix + name] = sotta::to_array(tensor.detach());
  return {{"updates", adapter.updates()},
          {"finite", at::isfinite(state.affine).all().item<bool>()}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr,
                 "usage: %s NETWORK.pt IMAGES.npy WINDOW OUT.safetensors "
                 "SPEC...\n",
                 argv[0]);
    return 2;
  }
  const at::Tensor images = sotta::to_tensor(sotta::read_npy(argv[2])).clone();
  const int64_t window = std::stoll(argv[3]);
  std::shared_ptr<const sotta::Classifier> network;
  sotta::TensorFile out;
  say({{"load", outcome_of([&] {
          sotta::LoadOptions options;
          options.normalisation = sotta::Normalisation{{0, 0, 0}, {1, 1, 1}};
          network = sotta::load_network_file(argv[1], options);
          const at::Tensor logits =
              network
                  ->forward(images.narrow(0, 0, window), network->source(),
                            sotta::NormStats::running())
                  .logits;
          out.tensors["logits"] = sotta::to_array(logits.detach());
          return describe(*network);
        })}});
  for (int i = 5; network && i < argc; ++i) {
    json line = outcome_of([&] {
      const auto adapter = make_adapter(network, window, argv[i]);
      return step(*adapter, images, std::to_string(i - 5) + ":", out);
    });
    line["step"] = argv[i];
    say(line);
  }
  write_safetensors(argv[4], out);
  return 0;
}
