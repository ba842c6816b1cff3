#include "sotta/models/weights.h"

#include <map>
#include <set>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "sotta/core/error.h"

#include "data/tensor.h"
#include "models/metadata_number.h"
#include "models/network_file.h"
#include "models/own_network.h"
#include "models/resnet.h"
#include "models/resnet_plan.h"
#include "models/vit.h"
#include "models/wide_resnet.h"

namespace sotta {
namespace {

using Shape = std::vector<int64_t>;

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string shape_text(const Shape& shape) {
  std::vector<std::string> extents;
  for (const int64_t extent : shape)
    extents.push_back(std::to_string(extent));
  return "[" + join(extents) + "]";
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::set<std::string> norm_names(const Classifier& model) {
  std::set<std::string> names;
  for (const auto& [name, tensor] :
       named_norm_tensors(model.source(), model.norm_layers()))
    names.insert(name);
  return names;
}

std::map<std::string, Shape> expected_shapes(const NetworkTensors& plan) {
  std::map<std::string, Shape> shapes;
  for (const auto& tensor : plan.body)
    shapes[tensor.name] = tensor.shape;
  for (const auto& norm : plan.norms) {
    for (const char* part : {".weight", ".bias"})
      shapes[norm.name + part] = {norm.channels};
    if (!norm.has_running()) continue;
    for (const char* part : {".running_mean", ".running_var"})
      shapes[norm.name + part] = {norm.channels};
  }
  return shapes;
}

// Compares all names and shapes before saying anything, so that one attempt
// shows everything there is to mend.
void check_tensors(const TensorFile& file, const NetworkTensors& plan,
                   const std::string& subject) {
  const auto expected = expected_shapes(plan);
  std::vector<std::string> missing, unexpected, misshaped;
  for (const auto& [name, shape] : expected) {
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end())
      missing.push_back(name);
    else if (found->second.shape != shape)
      misshaped.push_back(name + " (expected " + shape_text(shape) + ", got " +
                          shape_text(found->second.shape) + ")");
  }
  for (const auto& [name, array] : file.tensors)
    // PyTorch's counter of training batches has no use here.
    if (!expected.count(name) && !ends_with(name, ".num_batches_tracked"))
      unexpected.push_back(name);

  std::vector<std::string> problems;
  const auto report = [&](const char* what,
                          const std::vector<std::string>& names) {
    if (!names.empty())
      problems.push_back(std::to_string(names.size()) + " " + what + ": " +
                         join(names));
  };
  report("missing", missing);
  report("unexpected", unexpected);
  report("of another shape", misshaped);
  if (!problems.empty())
    fail(ErrorKind::kBadFormat, subject,
         "tensors do not fit the network, " + join(problems));
}

at::Tensor flat_float(const TensorFile& file, const std::string& name) {
  return to_tensor(file.tensors.at(name)).to(at::kFloat).flatten();
}

ModelState collect_state(const TensorFile& file, const NetworkTensors& plan) {
  std::vector<at::Tensor> body, affine, mean, var;
  for (const auto& tensor : plan.body)
    body.push_back(flat_float(file, tensor.name));
  for (const auto& norm : plan.norms) {
    affine.push_back(flat_float(file, norm.name + ".weight"));
    affine.push_back(flat_float(file, norm.name + ".bias"));
    if (!norm.has_running()) continue;
    mean.push_back(flat_float(file, norm.name + ".running_mean"));
    var.push_back(flat_float(file, norm.name + ".running_var"));
  }
  const auto joined = [](const std::vector<at::Tensor>& parts) {
    return parts.empty() ? at::empty({0}, at::kFloat) : at::cat(parts);
  };
  return {joined(body), joined(affine), joined(mean), joined(var)};
}

Normalisation find_normalisation(const TensorFile& file,
                                 const LoadOptions& options,
                                 const std::string& subject) {
  if (options.normalisation) return *options.normalisation;
  const auto mean = file.metadata.find("mean");
  const auto std = file.metadata.find("std");
  if (mean != file.metadata.end() && std != file.metadata.end())
    return {parse_number_list(mean->second, subject + ": metadata mean"),
            parse_number_list(std->second, subject + ": metadata std")};
  if (options.default_normalisation) return *options.default_normalisation;
  fail(ErrorKind::kInvalid, subject,
       "does not say how its inputs are normalised (metadata mean and std), "
       "and no normalisation was given");
}

}  // namespace

std::unique_ptr<Classifier> load_classifier(const std::filesystem::path& file,
                                            const LoadOptions& options) {
  if (brings_network(file)) {
    LoadOptions known = options;
    if (!known.normalisation)
      known.normalisation = options.default_normalisation;
    return load_network_file(file, known);
  }
  return make_classifier(read_safetensors(file), options, file.string());
}

std::unique_ptr<Classifier> make_classifier(const TensorFile& tensors,
                                            const LoadOptions& options,
                                            const std::string& subject) {
  check_precision(options.precision, options.device);
  std::map<std::string, Shape> shapes;
  for (const auto& [name, array] : tensors.tensors)
    shapes[name] = array.shape;
  const auto state_of = [&](const NetworkTensors& plan) {
    check_tensors(tensors, plan, subject);
    return collect_state(tensors, plan).to(options.device);
  };
  const auto normalisation = [&] {
    return find_normalisation(tensors, options, subject);
  };
  if (looks_like_wide_resnet(shapes)) {
    const WideResNetSpec spec = infer_wide_resnet(shapes, subject);
    return make_wide_resnet(spec, state_of(WideResNetPlan(spec)),
                            normalisation(), options);
  }
  if (looks_like_vit(shapes)) {
    const VitSpec spec =
        infer_vit(shapes, metadata_heads(tensors, subject), subject);
    return make_vit(spec, state_of(VitPlan(spec)), normalisation(), options);
  }
  const ResNetSpec spec =
      infer_resnet(shapes, subject,
                   metadata_number(tensors, "groups", 1 << 12, subject)
                       .value_or(kUsualGroups));
  return make_resnet(spec, state_of(ResNetPlan(spec)), normalisation(),
                     options);
}

TensorFile export_weights(const Classifier& model, const ModelState& state,
                          WeightPrecision precision) {
  const auto norm_tensors = norm_names(model);
  TensorFile file;
  for (const auto& [name, tensor] : model.named_tensors(state)) {
    const bool half =
        precision == WeightPrecision::kHalf && !norm_tensors.count(name);
    file.tensors[name] = to_array(half ? tensor.to(at::kHalf) : tensor);
  }
  file.metadata["mean"] = format_number_list(model.normalisation().mean);
  file.metadata["std"] = format_number_list(model.normalisation().std);
  if (const auto* own = dynamic_cast<const OwnNetwork*>(&model))
    file.metadata.merge(own->metadata());
  return file;
}

TensorFile export_norm(const Classifier& model, const ModelState& state) {
  TensorFile file;
  const auto tensors = model.named_tensors(state);
  for (const auto& name : norm_names(model))
    file.tensors[name] = to_array(tensors.at(name));
  return file;
}

ModelState apply_norm(const Classifier& model, const ModelState& base,
                      const TensorFile& norm, const std::string& subject) {
  ModelState state = base.clone_norm();
  const auto names = norm_names(model);
  const auto targets = model.named_tensors(state);
  for (const auto& name : names) {
    const auto found = norm.tensors.find(name);
    if (found == norm.tensors.end() ||
        found->second.shape != targets.at(name).sizes().vec())
      fail(ErrorKind::kBadFormat, subject,
           "expected the norm layers of this model, \"" + name +
               "\" is missing or of another shape");
  }
  if (norm.tensors.size() != names.size())
    fail(ErrorKind::kBadFormat, subject,
         "expected " + std::to_string(names.size()) +
             " tensors of norm layers, got " +
             std::to_string(norm.tensors.size()));
  // The targets are views of the new state's vectors.
  for (const auto& name : names)
    targets.at(name).copy_(to_tensor(norm.tensors.at(name)));
  return state;
}

}  // namespace sotta
