#include "models/torchscript.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/serialization/import.h>

#include "sotta/core/error.h"

#include "data/torch/torchscript_archive.h"
#include "gpu/device_queue.h"
#include "gpu/out_of_memory.h"
#include "gpu/settings_scope.h"
#include "models/pixel_input.h"
#include "models/torchscript_graph.h"

namespace sotta {
namespace {

at::Tensor flat(const std::vector<at::Tensor>& parts) {
  std::vector<at::Tensor> vectors;
  for (const auto& part : parts)
    vectors.push_back(part.to(at::kFloat).flatten());
  return vectors.empty() ? at::empty({0}, at::kFloat) : at::cat(vectors);
}

// Batch norm first, as ModelState has them.
std::vector<GraphNorm> in_order_of_state(std::vector<GraphNorm> norms) {
  std::stable_partition(norms.begin(), norms.end(), [](const GraphNorm& norm) {
    return norm.kind == NormKind::kBatch;
  });
  return norms;
}

ModelState collect_state(const LiftedGraph& lifted) {
  std::vector<at::Tensor> body, affine, mean, var;
  for (const auto& parameter : lifted.body)
    body.push_back(parameter.tensor);
  for (const auto& norm : in_order_of_state(lifted.norms)) {
    affine.insert(affine.end(), {norm.scale, norm.shift});
    if (norm.kind != NormKind::kBatch) continue;
    mean.push_back(norm.running_mean);
    var.push_back(norm.running_var);
  }
  return {flat(body), flat(affine), flat(mean), flat(var)};
}

class TorchScriptClassifier : public Classifier {
 public:
  TorchScriptClassifier(const LiftedGraph& lifted, const LoadOptions& options,
                        const std::string& subject)
      : subject_(subject),
        functions_(lifted.functions),
        code_(lifted.graph, "forward"),
        body_(lifted.body),
        source_(collect_state(lifted)),
        normalisation_(*options.normalisation),
        input_(normalisation_, source_.body),
        settings_(options),
        shared_(options.shared),
        classes_(lifted.classes),
        gives_features_(lifted.gives_features) {
    std::map<std::string, size_t> places;
    std::vector<int64_t> offsets = {0};
    for (const auto& norm : in_order_of_state(lifted.norms)) {
      const int64_t channels = norm.scale.numel();
      places.emplace(norm.name, places.size());
      offsets.push_back(offsets.back() + channels);
      affine_sizes_.insert(affine_sizes_.end(), {channels, channels});
    }
    for (const auto& norm : lifted.norms) {
      places_.push_back(places[norm.name]);
      norms_.push_back(
          {norm.name, norm.scale.numel(), offsets[places_.back()], norm.kind});
    }
  }

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    const SettingsScope scope(settings_, state.affine.device());
    ForwardResult result;
    if (stats.source != NormStats::Source::kRunning) {
      result.batch_mean = at::zeros_like(state.running_mean);
      result.batch_var = at::zeros_like(state.running_var);
    }
    torch::jit::Stack stack{input_.normalise(images, state.affine.device())};
    push_body(stack, state);
    push_norms(stack, state, result);
    stack.emplace_back(static_cast<int64_t>(stats.source));
    stack.emplace_back(stats.batch_share);
    run(stack, images);
    result.logits = stack[0].toTensor();
    if (gives_features_) result.features = stack[1].toTensor();
    check_output(result, images.size(0));
    return result;
  }

  const ModelState& source() const override { return source_; }
  int64_t classes() const override { return classes_; }
  int64_t channels() const override { return input_.channels(); }
  std::string engine() const override { return "torchscript"; }
  DeviceSettings device_settings() const override { return settings_; }
  const std::vector<NormLayer>& norm_layers() const override { return norms_; }
  const Normalisation& normalisation() const override { return normalisation_; }

  NamedTensors named_tensors(const ModelState& state) const override {
    NamedTensors tensors = named_norm_tensors(state, norms_);
    int64_t start = 0;
    for (const auto& [name, like] : body_) {
      tensors[name] =
          state.body.narrow(0, start, like.numel()).view(like.sizes());
      start += like.numel();
    }
    return tensors;
  }

 private:
  void run(torch::jit::Stack& stack, const at::Tensor& images) const try {
    torch::jit::InterpreterState(code_).run(stack);
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) throw;
    std::string sizes;
    for (const int64_t extent : images.sizes())
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(extent);
    fail(ErrorKind::kUnsupported, subject_,
         "the network cannot be run on images [" + sizes +
             "], LibTorch says: " + libtorch_reason(error));
  }

  void check_output(const ForwardResult& result, int64_t images) const {
    const auto fits = [&](const at::Tensor& rows) {
      return rows.defined() && rows.dim() == 2 && rows.size(0) == images &&
             rows.is_floating_point();
    };
    if (!fits(result.logits) || result.logits.size(1) != classes() ||
        (gives_features_ && !fits(result.features)))
      fail(ErrorKind::kUnsupported, subject_,
           "expected logits [" + std::to_string(images) + ", " +
               std::to_string(classes()) +
               "] and as many rows of features, the network gives another "
               "shape");
  }

  void push_body(torch::jit::Stack& stack, const ModelState& state) const {
    std::vector<int64_t> sizes;
    for (const auto& parameter : body_)
      sizes.push_back(parameter.tensor.numel());
    const auto parts = state.body.split_with_sizes(sizes);
    for (size_t i = 0; i < parts.size(); ++i)
      stack.emplace_back(parts[i].view(body_[i].tensor.sizes()));
  }

  void push_norms(torch::jit::Stack& stack, const ModelState& state,
                  const ForwardResult& result) const {
    const auto slice = [](const at::Tensor& vector, const NormLayer& norm) {
      return vector.defined() ? vector.narrow(0, norm.offset, norm.channels)
                              : at::Tensor();
    };
    // Cut at once: gradients of all come back as one vector.
    const auto affine = state.affine.split_with_sizes(affine_sizes_);
    for (size_t i = 0; i < norms_.size(); ++i) {
      const NormLayer& norm = norms_[i];
      stack.emplace_back(affine[2 * places_[i]]);
      stack.emplace_back(affine[2 * places_[i] + 1]);
      if (!norm.has_running()) continue;
      stack.emplace_back(slice(state.running_mean, norm));
      stack.emplace_back(slice(state.running_var, norm));
      stack.emplace_back(slice(result.batch_mean, norm));
      stack.emplace_back(slice(result.batch_var, norm));
    }
  }

  std::string subject_;  // the file, for messages
  std::shared_ptr<torch::jit::CompilationUnit> functions_;  // of code_
  torch::jit::Code code_;
  std::vector<NamedTensor> body_;  // for names and shapes
  std::vector<NormLayer> norms_;
  std::vector<size_t> places_;         // of the norm layers in a state
  std::vector<int64_t> affine_sizes_;  // of its scales and shifts
  ModelState source_;
  Normalisation normalisation_;
  PixelInput input_;
  DeviceSettings settings_;
  SharedDevice shared_;
  int64_t classes_;
  bool gives_features_;
};

// An archive in pieces, as LibTorch reads files.
class Pieces : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit Pieces(std::vector<Array> pieces) : pieces_(std::move(pieces)) {
    for (const Array& piece : pieces_) {
      begins_.push_back(size_);
      size_ += static_cast<size_t>(piece.bytes());
    }
  }

  size_t size() const override { return size_; }

  size_t read(uint64_t position, void* out, size_t count,
              const char* /*what*/) const override {
    if (position >= size_) return 0;
    const size_t wanted = std::min<size_t>(count, size_ - position);
    auto piece = static_cast<size_t>(
        std::upper_bound(begins_.begin(), begins_.end(), position) -
        begins_.begin() - 1);
    for (size_t done = 0; done < wanted; ++piece) {
      const size_t skip = position + done - begins_[piece];
      const size_t length = std::min(
          wanted - done, static_cast<size_t>(pieces_[piece].bytes()) - skip);
      std::memcpy(static_cast<char*>(out) + done,
                  pieces_[piece].data.get() + skip, length);
      done += length;
    }
    return wanted;
  }

 private:
  std::vector<Array> pieces_;
  std::vector<size_t> begins_;
  size_t size_ = 0;
};

torch::jit::Module read_module(std::vector<Array> pieces, at::Device device,
                               const std::string& subject) {
  const auto archive = std::make_shared<Pieces>(std::move(pieces));
  try {
    return torch::jit::load(archive, device);
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) throw;
    fail(ErrorKind::kBadFormat, subject,
         "expected a TorchScript file, LibTorch says: " +
             libtorch_reason(error));
  }
}

std::unique_ptr<Classifier> make_network(const LiftedGraph& lifted,
                                         const LoadOptions& options,
                                         const std::string& subject) try {
  return std::make_unique<TorchScriptClassifier>(lifted, options, subject);
} catch (const Error&) {
  throw;
} catch (const std::exception& error) {
  fail_to_adapt(subject, error);
}

void check_options(const LoadOptions& options, const std::string& subject) {
  if (!options.normalisation)
    fail(ErrorKind::kInvalid, subject,
         "TorchScript does not say how its inputs are normalised, and no "
         "normalisation was given");
  check_normalisation(*options.normalisation);
  if (options.precision == Precision::kBfloat16)
    fail(ErrorKind::kUnsupported, subject,
         "bf16 is for our own networks, a TorchScript file computes in what it "
         "was made for");
  check_precision(options.precision, options.device);
}

}  // namespace

bool is_torchscript(const std::filesystem::path& file) {
  std::error_code ignored;
  // Opening a named pipe would wait for a writer.
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  std::ifstream stream(file, std::ios::binary);
  char magic[2] = {};
  stream.read(magic, sizeof magic);
  if (!stream || magic[0] != 'P' || magic[1] != 'K') return false;
  // Zip files name their entries a second time at their end; checkpoints and
  // TorchScript files differ by the entry that says where constants lie.
  const auto size = std::filesystem::file_size(file, ignored);
  constexpr std::uintmax_t kTail = 1 << 20;
  stream.seekg(static_cast<std::streamoff>(size > kTail ? size - kTail : 0));
  const std::string tail((std::istreambuf_iterator<char>(stream)), {});
  return tail.find("/constants.pkl") != std::string::npos;
}

std::unique_ptr<Classifier> load_torchscript(const std::filesystem::path& file,
                                             const LoadOptions& options) {
  check_options(options, file.string());
  const auto module = read_module(read_torchscript_archive(file),
                                  options.device, file.string());
  return make_network(lift_graph(module, file.string()), options,
                      file.string());
}

std::unique_ptr<Classifier> parse_torchscript(std::string_view bytes,
                                              const LoadOptions& options,
                                              const std::string& subject) {
  check_options(options, subject);
  // Not owned: LibTorch has copied what it needs before this returns.
  const std::shared_ptr<const std::byte> data(
      reinterpret_cast<const std::byte*>(bytes.data()), [](const auto*) {});
  const auto module =
      read_module(parse_torchscript_archive(data, bytes.size(), subject),
                  options.device, subject);
  return make_network(lift_graph(module, subject), options, subject);
}

}  // namespace sotta
