#include "sotta/adapt/snapshot.h"

#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"
#include "sotta/data/safetensors.h"

#include "adapt/bit_cast.h"
#include "adapt/stored_count.h"
#include "data/tensor.h"

namespace sotta {
namespace {

// Integers and the bits of everything that must survive exactly.
at::Tensor pack(const std::vector<int64_t>& words) {
  return at::tensor(words, at::kLong);
}

[[noreturn]] void refuse(const std::string& problem) {
  fail(ErrorKind::kBadFormat, "snapshot", problem);
}

std::function<void(const at::Tensor&)> expect_words(const std::string& name,
                                                    int64_t count) {
  return [name, count](const at::Tensor& stored) {
    if (stored.numel() != count)
      refuse("expected \"" + name + "\" of " + std::to_string(count) +
             " words, got " + std::to_string(stored.numel()));
  };
}

std::string form_text(at::ScalarType type, at::IntArrayRef shape) {
  return c10::str(c10::toString(type), " ", shape);
}

// In `shape` -1 stands for any extent.
void check_form(const std::string& name, const at::Tensor& stored,
                at::ScalarType type, at::IntArrayRef shape) {
  bool fits = stored.scalar_type() == type &&
              stored.dim() == static_cast<int64_t>(shape.size());
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = shape[i] == -1 || shape[i] == stored.size(static_cast<int64_t>(i));
  if (!fits)
    refuse("expected \"" + name + "\" as " + form_text(type, shape) + ", got " +
           form_text(stored.scalar_type(), stored.sizes()));
}

TensorFile to_file(const Snapshot& snapshot) {
  TensorFile content;
  content.metadata["method"] = snapshot.method;
  for (const auto& [name, tensor] : snapshot.tensors)
    content.tensors[name] = to_array(tensor);
  return content;
}

Snapshot from_file(const TensorFile& content, const std::string& subject) {
  Snapshot snapshot;
  const auto method = content.metadata.find("method");
  if (method == content.metadata.end())
    fail(ErrorKind::kBadFormat, subject,
         "expected a snapshot, found no \"method\" in its metadata");
  snapshot.method = method->second;
  for (const auto& [name, array] : content.tensors)
    snapshot.tensors[name] = to_tensor(array).clone();
  return snapshot;
}

}  // namespace

void write_snapshot(const std::filesystem::path& file,
                    const Snapshot& snapshot) {
  write_safetensors(file, to_file(snapshot));
}

Snapshot read_snapshot(const std::filesystem::path& file) {
  return from_file(read_safetensors(file), file.string());
}

std::string snapshot_bytes(const Snapshot& snapshot) {
  return safetensors_bytes(to_file(snapshot), "snapshot");
}

Snapshot parse_snapshot(std::string_view bytes, const std::string& subject) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return from_file(parse_safetensors(data, bytes.size(), subject), subject);
}

StateArchive StateArchive::into(Snapshot& snapshot) {
  return StateArchive(&snapshot, nullptr);
}

StateArchive StateArchive::from(const Snapshot& snapshot) {
  return StateArchive(nullptr, &snapshot);
}

at::Tensor StateArchive::find(const std::string& name, bool required) {
  const auto found = origin_->tensors.find(name);
  if (found == origin_->tensors.end()) {
    if (required) refuse("expected a tensor \"" + name + "\", found none");
    return {};
  }
  ++used_;
  return found->second;
}

void StateArchive::survives_trial(const std::function<void()>& list) {
  survivor_ = true;
  list();
  survivor_ = false;
}

void StateArchive::at_commit(std::function<void()> assign) {
  if (survivor_ && keeps_survivors_) return;
  assignments_.push_back(std::move(assign));
}

void StateArchive::operator()(const std::string& name, at::Tensor& value) {
  if (saving()) {
    target_->tensors[name] = value.detach().clone();
    return;
  }
  const at::Tensor stored = find(name, /*required=*/true);
  check_form(name, stored, value.scalar_type(), value.sizes());
  at_commit([&value, stored] { value.copy_(stored); });
}

void StateArchive::operator()(const std::string& name, at::Tensor& value,
                              bool& has_value) {
  if (saving()) {
    if (has_value) (*this)(name, value);
    return;
  }
  const at::Tensor stored = find(name, /*required=*/false);
  if (stored.defined())
    check_form(name, stored, value.scalar_type(), value.sizes());
  at_commit([&value, &has_value, stored] {
    has_value = stored.defined();
    has_value ? value.copy_(stored) : value.zero_();
  });
}

void StateArchive::varying(const std::string& name, at::Tensor& value,
                           at::Device device,
                           const std::vector<int64_t>& shape) {
  const at::Tensor stored = exchange_optional(name, value, device);
  if (stored.defined()) check_form(name, stored, at::kFloat, shape);
}

void StateArchive::images(const std::string& name, at::Tensor& value,
                          at::Device device) {
  const at::Tensor stored = exchange_optional(name, value, device);
  if (!stored.defined()) return;
  const auto type = stored.scalar_type() == at::kByte ? at::kByte : at::kFloat;
  check_form(name, stored, type, {-1, -1, -1, -1});
  if (stored.numel() == 0) refuse("expected \"" + name + "\" without zeros");
  const auto shape = stored.sizes().slice(1);
  if (!image_shape_.empty() && shape != at::IntArrayRef(image_shape_))
    refuse("expected images of one shape, got " +
           c10::str(at::IntArrayRef(image_shape_)) + " and " + c10::str(shape));
  image_shape_ = shape.vec();
}

at::Tensor StateArchive::exchange_optional(const std::string& name,
                                           at::Tensor& value,
                                           at::Device device) {
  if (saving()) {
    if (value.defined()) target_->tensors[name] = value.detach().clone();
    return {};
  }
  const at::Tensor stored = find(name, /*required=*/false);
  at_commit([&value, stored, device] {
    value = stored.defined() ? stored.to(device).clone() : at::Tensor();
  });
  return stored;
}

at::Tensor StateArchive::stored(const std::string& name) const {
  if (saving()) return {};
  const auto found = origin_->tensors.find(name);
  return found == origin_->tensors.end() ? at::Tensor() : found->second;
}

void StateArchive::operator()(const std::string& name,
                              const Converter& converter) {
  if (saving()) {
    target_->tensors[name] = converter.save();
    return;
  }
  const at::Tensor stored = find(name, /*required=*/true).cpu().contiguous();
  if (stored.scalar_type() != at::kLong)
    refuse("expected \"" + name + "\" as int64, got " +
           c10::toString(stored.scalar_type()));
  converter.check(stored);
  at_commit([load = converter.load, stored] { load(stored); });
}

void StateArchive::operator()(const std::string& name, int64_t& value) {
  (*this)(name, {[&] { return pack({value}); }, expect_words(name, 1),
                 [&value](const at::Tensor& stored) {
                   value = stored.item<int64_t>();
                 }});
}

void StateArchive::operator()(const std::string& name, int64_t& value,
                              int64_t otherwise) {
  if (saving() || stored(name).defined()) return (*this)(name, value);
  at_commit([&value, otherwise] { value = otherwise; });
}

void StateArchive::operator()(const std::string& name, double& value) {
  (*this)(name, {[&] { return pack({bit_cast<int64_t>(value)}); },
                 expect_words(name, 1),
                 [&value](const at::Tensor& stored) {
                   value = bit_cast<double>(stored.item<int64_t>());
                 }});
}

void StateArchive::operator()(const std::string& name, Rng& value) {
  (*this)(name, {[&] {
                   return pack({bit_cast<int64_t>(value.state().key),
                                bit_cast<int64_t>(value.state().counter)});
                 },
                 expect_words(name, 2),
                 [&value](const at::Tensor& stored) {
                   const auto* words = stored.data_ptr<int64_t>();
                   value = Rng(Rng::State{bit_cast<uint64_t>(words[0]),
                                          bit_cast<uint64_t>(words[1])});
                 }});
}

void StateArchive::operator()(const std::string& name, Optimiser& value,
                              const at::Tensor& parameters) {
  const std::string prefix = name + ".";
  if (saving()) {
    const auto state = value.state();
    for (const auto& [part, tensor] : state.tensors)
      if (tensor.defined())
        target_->tensors[prefix + part] = tensor.detach().clone();
    target_->tensors[prefix + "steps"] = pack({state.steps});
    return;
  }
  // All that set_state() could object to is found here, before anything
  // changes.
  Optimiser::State state;
  const at::Tensor steps = find(prefix + "steps", /*required=*/true);
  check_form(prefix + "steps", steps, at::kLong, {1});
  state.steps = steps.item<int64_t>();
  check_stored_count(*this, prefix + "steps");
  for (const auto& [part, unused] : value.state().tensors) {
    if (state.steps == 0) {
      state.tensors[part] = at::Tensor();
      continue;
    }
    const at::Tensor stored = find(prefix + part, /*required=*/true);
    check_form(prefix + part, stored, parameters.scalar_type(),
               parameters.sizes());
    state.tensors[part] = stored.to(parameters.device()).clone();
  }
  at_commit([&value, state] { value.set_state(state); });
}

void StateArchive::check_all_asked_for() const {
  if (!saving() && used_ != origin_->tensors.size())
    refuse("expected " + std::to_string(used_) + " tensors, got " +
           std::to_string(origin_->tensors.size()));
}

void StateArchive::commit() {
  check_all_asked_for();
  for (const auto& assign : assignments_)
    assign();
}

}  // namespace sotta
