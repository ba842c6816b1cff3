#include "models/graph_classifier.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "sotta/core/error.h"

#include "gpu/device_queue.h"
#include "gpu/out_of_memory.h"
#include "gpu/settings_scope.h"
#include "models/pixel_input.h"

namespace sotta {
namespace {

// Of images, the smallest first.
constexpr int64_t kUsualSides[] = {28,  32,  64,  96,  128, 160, 192,
                                   224, 240, 256, 299, 384, 512};

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

ModelState collect_state(const GraphNetwork& network) {
  std::vector<at::Tensor> body, affine, mean, var;
  for (const auto& parameter : network.body)
    body.push_back(parameter.tensor);
  for (const auto& norm : in_order_of_state(network.norms)) {
    affine.insert(affine.end(), {norm.scale, norm.shift});
    if (norm.kind != NormKind::kBatch) continue;
    mean.push_back(norm.running_mean);
    var.push_back(norm.running_var);
  }
  return {flat(body), flat(affine), flat(mean), flat(var)};
}

class GraphClassifier : public Classifier {
 public:
  GraphClassifier(const GraphNetwork& network, GraphRun run, GraphOrigin origin,
                  const LoadOptions& options)
      : origin_(std::move(origin)),
        run_(std::move(run)),
        body_(network.body),
        source_(collect_state(network)),
        normalisation_(*options.normalisation),
        input_(normalisation_, source_.body),
        settings_(options),
        shared_(options.shared),
        classes_(network.classes),
        gives_features_(network.gives_features) {
    std::map<std::string, size_t> places;
    std::vector<int64_t> offsets = {0};
    for (const auto& norm : in_order_of_state(network.norms)) {
      const int64_t channels = norm.scale.numel();
      places.emplace(norm.name, places.size());
      offsets.push_back(offsets.back() + channels);
      affine_sizes_.insert(affine_sizes_.end(), {channels, channels});
    }
    for (const auto& norm : network.norms) {
      places_.push_back(places[norm.name]);
      norms_.push_back(
          {norm.name, norm.scale.numel(), offsets[places_.back()], norm.kind});
    }
  }

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    ForwardResult result = run_on(images, state, stats);
    check_output(result, images.size(0));
    return result;
  }

  // For a network that does not say how many classes it has. A number counts if
  // it was expected, two sizes of images give it, or one size alone is taken:
  // maps that are flattened give another for every size.
  void find_classes() {
    const at::NoGradGuard no_gradients;
    std::vector<int64_t> found;
    for (const int64_t side : kUsualSides) {
      const auto classes = classes_of(side);
      if (!classes) continue;
      const bool is_same = !found.empty() && found.back() == *classes;
      found.push_back(*classes);
      if (is_same || *classes == classes_) return void(classes_ = *classes);
    }
    if (found.size() == 1) return void(classes_ = found[0]);
    if (classes_ == 0)
      fail(ErrorKind::kUnsupported, origin_.subject,
           "gives no logits [N, classes] for images of any usual size");
  }

  const ModelState& source() const override { return source_; }
  int64_t classes() const override { return classes_; }
  int64_t channels() const override { return input_.channels(); }
  std::string engine() const override { return origin_.engine; }
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
  ForwardResult run_on(const at::Tensor& images, const ModelState& state,
                       NormStats stats) const {
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
    return result;
  }

  // That blank images of this size give.
  std::optional<int64_t> classes_of(int64_t side) const try {
    const at::Tensor images =
        at::zeros({2, channels(), side, side}, source_.affine.options());
    const at::Tensor logits =
        run_on(images, source_, NormStats::running()).logits;
    if (!is_row_each(logits, images.size(0)) || logits.size(1) == 0)
      return std::nullopt;
    return logits.size(1);
  } catch (const Error&) {
    return std::nullopt;  // not a size that it takes
  }

  static bool is_row_each(const at::Tensor& rows, int64_t images) {
    return rows.defined() && rows.dim() == 2 && rows.size(0) == images &&
           rows.is_floating_point();
  }

  void run(torch::jit::Stack& stack, const at::Tensor& images) const try {
    run_(stack);
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) throw;
    std::string sizes;
    for (const int64_t extent : images.sizes())
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(extent);
    fail(ErrorKind::kUnsupported, origin_.subject,
         "the network cannot be run on images [" + sizes +
             "], LibTorch says: " + libtorch_reason(error));
  }

  void check_output(const ForwardResult& result, int64_t images) const {
    if (!is_row_each(result.logits, images) ||
        result.logits.size(1) != classes() ||
        (gives_features_ && !is_row_each(result.features, images)))
      fail(ErrorKind::kUnsupported, origin_.subject,
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

  GraphOrigin origin_;
  GraphRun run_;
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

}  // namespace

std::unique_ptr<Classifier> make_graph_classifier(
    const GraphNetwork& network, GraphRun run, const GraphOrigin& origin,
    const LoadOptions& options) try {
  auto made = std::make_unique<GraphClassifier>(network, std::move(run), origin,
                                                options);
  if (!network.knows_classes) made->find_classes();
  return made;
} catch (const Error&) {
  throw;
} catch (const std::exception& error) {
  fail_to_adapt(origin.subject, error);
}

void check_graph_options(const LoadOptions& options,
                         const GraphOrigin& origin) {
  if (!options.normalisation)
    fail(ErrorKind::kInvalid, origin.subject,
         origin.format +
             " does not say how its inputs are normalised, and no "
             "normalisation was given");
  check_normalisation(*options.normalisation);
  if (options.precision == Precision::kBfloat16)
    fail(ErrorKind::kUnsupported, origin.subject,
         "bf16 is for our own networks, a " + origin.format +
             " file computes in what it was made for");
  check_precision(options.precision, options.device);
}

std::string norm_name(const std::string& scale) {
  const std::string usual = ".weight";
  const bool is_usual =
      scale.size() > usual.size() &&
      scale.compare(scale.size() - usual.size(), usual.size(), usual) == 0;
  return is_usual ? scale.substr(0, scale.size() - usual.size()) : scale;
}

void check_norm_vectors(const GraphNorm& norm, const std::string& subject) {
  std::vector<at::Tensor> vectors = {norm.scale, norm.shift};
  if (norm.kind == NormKind::kBatch)
    vectors.insert(vectors.end(), {norm.running_mean, norm.running_var});
  for (const at::Tensor& vector : vectors)
    if (vector.dim() != 1 || vector.numel() != norm.scale.numel() ||
        !vector.is_floating_point())
      fail(ErrorKind::kUnsupported, subject,
           "norm layer " + norm.name +
               " has vectors of different lengths, or no vectors of numbers");
}

std::string libtorch_reason(const std::exception& error) {
  const std::string text = error.what();
  const std::string mark = "\nRuntimeError: ";
  const size_t found = text.rfind(mark);
  std::string reason =
      found == std::string::npos
          ? first_line(error)
          : first_line(std::runtime_error(text.substr(found + mark.size())));
  for (char& c : reason)
    if (c < ' ' || c > '~') c = '?';  // bytes of the file that it quotes
  // The place in the code would follow.
  while (reason.back() == ':' || reason.back() == ' ')
    reason.pop_back();
  return reason;
}

void fail_to_adapt(const std::string& subject, const std::exception& error) {
  if (is_out_of_memory(error)) throw;
  fail(ErrorKind::kUnsupported, subject,
       "cannot be made ready for adaptation, LibTorch says: " +
           libtorch_reason(error));
}

}  // namespace sotta
