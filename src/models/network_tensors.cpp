#include "models/network_tensors.h"

#include <cmath>
#include <functional>
#include <numeric>

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

void require_size(const at::Tensor& vector, int64_t size,
                  const std::string& subject, const char* name) {
  require(vector.dim() == 1 && vector.size(0) == size &&
              vector.scalar_type() == at::kFloat,
          subject,
          std::string("expected a float vector ") + name + " of " +
              std::to_string(size) + " values");
}

}  // namespace

int64_t BodyTensor::count() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1},
                         std::multiplies<>());
}

size_t NetworkTensors::add_body(const std::string& name,
                                const std::vector<int64_t>& shape) {
  body.push_back({name, shape});
  return body.size() - 1;
}

size_t NetworkTensors::add_norm(const std::string& name, int64_t channels,
                                NormKind kind) {
  norms.push_back({name, channels, norm_channels(), kind});
  return norms.size() - 1;
}

int64_t NetworkTensors::body_size() const {
  int64_t size = 0;
  for (const auto& tensor : body)
    size += tensor.count();
  return size;
}

int64_t NetworkTensors::norm_channels() const {
  return norms.empty() ? 0 : norms.back().offset + norms.back().channels;
}

int64_t NetworkTensors::running_channels() const {
  int64_t channels = 0;
  for (const auto& norm : norms)
    if (norm.has_running()) channels += norm.channels;
  return channels;
}

std::vector<at::Tensor> NetworkTensors::cut_body(const at::Tensor& flat) const {
  std::vector<int64_t> counts;
  for (const auto& tensor : body)
    counts.push_back(tensor.count());
  std::vector<at::Tensor> tensors = flat.split_with_sizes(counts);
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i] = tensors[i].view(body[i].shape);
  return tensors;
}

NamedTensors NetworkTensors::named(const ModelState& state) const {
  NamedTensors tensors = named_norm_tensors(state, norms);
  const auto parts = cut_body(state.body);
  for (size_t i = 0; i < body.size(); ++i)
    tensors[body[i].name] = parts[i];
  return tensors;
}

void NetworkTensors::check(const ModelState& state,
                           const std::string& subject) const {
  require_size(state.body, body_size(), subject, "body");
  require_size(state.affine, 2 * norm_channels(), subject, "affine");
  require_size(state.running_mean, running_channels(), subject, "running_mean");
  require_size(state.running_var, running_channels(), subject, "running_var");
}

ModelState NetworkTensors::random_state(Rng rng) const {
  ModelState state;
  state.body = at::empty({body_size()}, at::kFloat);
  auto* value = state.body.data_ptr<float>();
  const BodyTensor* weight = nullptr;
  for (const BodyTensor& tensor : body) {
    if (tensor.shape.size() > 1) weight = &tensor;
    const double bound = std::sqrt(static_cast<double>(weight->shape[0]) /
                                   static_cast<double>(weight->count()));
    for (int64_t k = 0; k < tensor.count(); ++k)
      *value++ = static_cast<float>(rng.uniform(-bound, bound));
  }
  state.affine = at::zeros({2 * norm_channels()}, at::kFloat);
  for (const auto& norm : norms)
    state.affine.narrow(0, 2 * norm.offset, norm.channels).fill_(1);
  state.running_mean = at::zeros({running_channels()}, at::kFloat);
  state.running_var = at::ones({running_channels()}, at::kFloat);
  return state;
}

}  // namespace sotta
