#include "eval/model_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"

#include "adapt/methods/frozen.h"
#include "gpu/out_of_memory.h"
#include "nn/pixels.h"

namespace sotta {
namespace {

// The sentence of what goes wrong; empty if nothing does.
template <class Work>
std::string complaint_of(const Work& work) {
  try {
    work();
    return "";
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) throw;
    const std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
}

std::string try_method(const std::string& name,
                       const std::shared_ptr<const Classifier>& model,
                       const at::Tensor& images,
                       const at::Tensor& source_images) {
  return complaint_of([&] {
    MethodContext context;
    context.model = model;
    context.update_interval = images.size(0);
    context.source_images = source_images;
    auto adapter = make_adapter(name, context, Preset::kClean, {});
    adapter->step(images);
  });
}

std::string listed(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) {
    char part[32];
    std::snprintf(part, sizeof part, "%.2f", number);
    text += (text.empty() ? "" : ", ") + std::string(part);
  }
  return text;
}

}  // namespace

const char* norm_kind_name(NormKind kind) {
  switch (kind) {
    case NormKind::kBatch:
      return "batch";
    case NormKind::kLayer:
      return "layer";
    case NormKind::kGroup:
      return "group";
    case NormKind::kInstance:
      return "instance";
  }
  return "";
}

std::vector<MethodFit> try_methods(
    const std::shared_ptr<const Classifier>& model, const at::Tensor& images) {
  std::vector<MethodFit> fits;
  for (const std::string& name : method_names()) {
    MethodFit fit{name, find_method(name).label, true, ""};
    fit.note = try_method(name, model, images, {});
    if (!fit.note.empty())
      fit.fits = try_method(name, model, images, images).empty();
    fits.push_back(fit);
  }
  return fits;
}

std::vector<int64_t> sides_taken(const Classifier& model,
                                 const std::vector<int64_t>& sides) {
  const at::NoGradGuard no_grad;
  std::vector<int64_t> taken;
  for (const int64_t side : sides) {
    const at::Tensor images = at::rand({2, model.channels(), side, side},
                                       model.source().affine.options());
    const std::string complaint = complaint_of(
        [&] { model.forward(images, model.source(), NormStats::running()); });
    if (complaint.empty()) taken.push_back(side);
  }
  return taken;
}

std::vector<std::string> frozen_by_default(const Classifier& model) {
  const at::Tensor mask = trainable_mask(model, "auto");
  std::vector<std::string> frozen;
  if (!mask.defined()) return frozen;
  for (const auto& layer : model.norm_layers())
    if (mask[2 * layer.offset].item<float>() == 0) frozen.push_back(layer.name);
  return frozen;
}

std::map<std::string, int64_t> count_norm_kinds(const Classifier& model) {
  std::map<std::string, int64_t> kinds;
  for (const auto& layer : model.norm_layers())
    ++kinds[norm_kind_name(layer.kind)];
  return kinds;
}

InputMoments input_moments(const Classifier& model, const at::Tensor& images) {
  const Normalisation& by = model.normalisation();
  const at::Tensor pixels = as_floats(images);
  InputMoments moments;
  for (int64_t c = 0; c < model.channels(); ++c) {
    const auto i = static_cast<size_t>(c);
    const at::Tensor channel = pixels.select(1, c).to(at::kDouble);
    moments.mean.push_back((channel.mean().item<double>() - by.mean[i]) /
                           by.std[i]);
    moments.std.push_back(channel.std(/*unbiased=*/false).item<double>() /
                          by.std[i]);
  }
  return moments;
}

std::string complaint_about(const InputMoments& moments) {
  const bool far = std::any_of(moments.mean.begin(), moments.mean.end(),
                               [](double m) { return !(std::abs(m) <= 1); });
  const bool wide =
      std::any_of(moments.std.begin(), moments.std.end(),
                  [](double s) { return !(s >= 0.4 && s <= 2.5); });
  if (!far && !wide) return "";
  return "mean and std look wrong for these images: behind them the inputs "
         "have mean " +
         listed(moments.mean) + " and standard deviation " +
         listed(moments.std) + ", expected about 0 and 1";
}

}  // namespace sotta
