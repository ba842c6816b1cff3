#include "sotta/adapt/snapshot.h"

#include <cstring>

#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"
#include "sotta/data/safetensors.h"
#include "sotta/data/tensor.h"

namespace sotta {
namespace {

// Integers and the bits of everything that must survive exactly.
at::Tensor pack(const std::vector<int64_t>& words) {
  return at::tensor(words, at::kLong);
}

template <class To, class From>
To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

std::function<void(const at::Tensor&)> expect_words(const std::string& name,
                                                    int64_t count) {
  return [name, count](const at::Tensor& stored) {
    if (stored.numel() != count)
      fail(ErrorKind::kBadFormat, "snapshot",
           "expected \"" + name + "\" of " + std::to_string(count) +
               " words, got " + std::to_string(stored.numel()));
  };
}

}  // namespace

void write_snapshot(const std::filesystem::path& file,
                    const Snapshot& snapshot) {
  TensorFile content;
  content.metadata["method"] = snapshot.method;
  for (const auto& [name, tensor] : snapshot.tensors)
    content.tensors[name] = to_array(tensor);
  write_safetensors(file, content);
}

Snapshot read_snapshot(const std::filesystem::path& file) {
  const TensorFile content = read_safetensors(file);
  Snapshot snapshot;
  const auto method = content.metadata.find("method");
  if (method == content.metadata.end())
    fail(ErrorKind::kBadFormat, file.string(),
         "expected a snapshot, found no \"method\" in its metadata");
  snapshot.method = method->second;
  for (const auto& [name, array] : content.tensors)
    snapshot.tensors[name] = to_tensor(array).clone();
  return snapshot;
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
    if (required)
      fail(ErrorKind::kBadFormat, "snapshot",
           "expected a tensor \"" + name + "\", found none");
    return {};
  }
  ++used_;
  return found->second;
}

void StateArchive::operator()(const std::string& name, at::Tensor& value) {
  if (saving()) {
    target_->tensors[name] = value.detach().clone();
    return;
  }
  const at::Tensor stored = find(name, /*required=*/true);
  if (stored.sizes() != value.sizes())
    fail(ErrorKind::kBadFormat, "snapshot",
         "expected \"" + name + "\" of shape " + c10::str(value.sizes()) +
             ", got " + c10::str(stored.sizes()));
  assignments_.emplace_back(
      [&value, stored] { value = stored.to(value.device()).clone(); });
}

void StateArchive::varying(const std::string& name, at::Tensor& value,
                           at::Device device) {
  if (saving()) {
    if (value.defined()) target_->tensors[name] = value.detach().clone();
    return;
  }
  const at::Tensor stored = find(name, /*required=*/false);
  assignments_.emplace_back([&value, stored, device] {
    value = stored.defined() ? stored.to(device).clone() : at::Tensor();
  });
}

void StateArchive::operator()(const std::string& name,
                              const Converter& converter) {
  if (saving()) {
    target_->tensors[name] = converter.save();
    return;
  }
  const at::Tensor stored = find(name, /*required=*/true).cpu().contiguous();
  if (stored.scalar_type() != at::kLong)
    fail(ErrorKind::kBadFormat, "snapshot",
         "expected \"" + name + "\" as int64, got " +
             c10::toString(stored.scalar_type()));
  converter.check(stored);
  assignments_.emplace_back([load = converter.load, stored] { load(stored); });
}

void StateArchive::operator()(const std::string& name, int64_t& value) {
  (*this)(name, {[&] { return pack({value}); }, expect_words(name, 1),
                 [&value](const at::Tensor& stored) {
                   value = stored.item<int64_t>();
                 }});
}

void StateArchive::operator()(const std::string& name, double& value) {
  (*this)(name, {[&] { return pack({bit_cast<int64_t>(value)}); },
                 expect_words(name, 1),
                 [&value](const at::Tensor& stored) {
                   value = bit_cast<double>(stored.item<int64_t>());
                 }});
}

void StateArchive::operator()(const std::string& name, bool& value) {
  (*this)(name, {[&] { return pack({value ? 1 : 0}); }, expect_words(name, 1),
                 [&value](const at::Tensor& stored) {
                   value = stored.item<int64_t>() != 0;
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
                              at::Device device) {
  const std::string prefix = name + ".";
  if (saving()) {
    const auto state = value.state();
    for (const auto& [part, tensor] : state.tensors)
      if (tensor.defined())
        target_->tensors[prefix + part] = tensor.detach().clone();
    target_->tensors[prefix + "steps"] = pack({state.steps});
    return;
  }
  Optimiser::State state;
  state.steps = find(prefix + "steps", /*required=*/true).item<int64_t>();
  for (const auto& [part, unused] : value.state().tensors) {
    const at::Tensor stored = find(prefix + part, /*required=*/false);
    state.tensors[part] =
        stored.defined() ? stored.to(device).clone() : at::Tensor();
  }
  assignments_.emplace_back([&value, state] { value.set_state(state); });
}

void StateArchive::commit() {
  if (saving()) return;
  if (used_ != origin_->tensors.size())
    fail(ErrorKind::kBadFormat, "snapshot",
         "expected " + std::to_string(used_) + " tensors, got " +
             std::to_string(origin_->tensors.size()));
  for (const auto& assign : assignments_)
    assign();
}

}  // namespace sotta
