#include "data/torch/torch_tensor.h"

#include <utility>

#include "sotta/core/error.h"

#include "data/formats/printable.h"

namespace sotta {
namespace {

constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor";
constexpr std::string_view kRebuildTensor2 = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter =
    "torch._utils._rebuild_parameter";
constexpr std::string_view kRebuildParameterWithState =
    "torch._utils._rebuild_parameter_with_state";
constexpr std::string_view kRebuildWithAttributes =
    "torch._tensor._rebuild_from_type_v2";

// Tensors may share a storage, as tied weights do. A hostile file may have
// thousands of tensors over one large storage; together they may be at most
// this many times larger than what they are made of.
constexpr int64_t kMostSharing = 16;

// Far more than any tensor of PyTorch's has.
constexpr size_t kMostDimensions = 64;

bool calls(const PickleValue& value, std::string_view function) {
  return value.kind == PickleKind::kCall && value.text == function;
}

// What _rebuild_tensor_v2 is called with: by the pickle itself, or by
// _rebuild_from_type_v2(function, type, arguments, attributes). Null if it is
// neither.
const PickleValue* tensor_arguments(const Pickle& pickle,
                                    const PickleValue& value) {
  if (calls(value, kRebuildTensor) || calls(value, kRebuildTensor2))
    return &pickle.item(value, 0);
  if (!calls(value, kRebuildWithAttributes)) return nullptr;
  const PickleValue& outer = pickle.item(value, 0);
  const bool is_plain = outer.items.size() >= 3 &&
                        pickle.item(outer, 0).kind == PickleKind::kGlobal &&
                        pickle.item(outer, 0).text == kRebuildTensor2 &&
                        pickle.item(outer, 2).kind == PickleKind::kTuple;
  return is_plain ? &pickle.item(outer, 2) : nullptr;
}

}  // namespace

// A tensor as the pickle describes it: a window onto a storage.
struct TorchTensors::View {
  StorageId storage;
  int64_t offset;  // this and the strides in elements
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;

  int64_t count() const {
    int64_t product = 1;
    for (const int64_t extent : shape)
      product *= extent;
    return product;
  }

  bool is_contiguous() const {
    int64_t expected = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      if (shape[i] != 1 && strides[i] != expected) return false;
      expected *= shape[i];
    }
    return true;
  }
};

TorchTensors::TorchTensors(const TorchContainer& container, std::string subject)
    : container_(container),
      pickle_(container.object()),
      subject_(std::move(subject)) {}

bool TorchTensors::is_tensor(const PickleValue& value) {
  return calls(value, kRebuildTensor) || calls(value, kRebuildTensor2) ||
         calls(value, kRebuildParameter) ||
         calls(value, kRebuildParameterWithState) ||
         calls(value, kRebuildWithAttributes);
}

void TorchTensors::damaged(const std::string& name,
                           const std::string& problem) const {
  fail(ErrorKind::kBadFormat, subject_,
       "tensor " + printable(name) + " is damaged, " + problem);
}

Array TorchTensors::rebuild(const PickleValue& value, const std::string& name) {
  const View view = parse_view(unwrap_parameter(value), name);
  const TorchElement& element = *view.storage.element;
  if (element.copy == nullptr)
    fail(ErrorKind::kUnsupported, subject_,
         "tensor " + printable(name) + " has elements of " + element.name +
             ", which is not taken");
  const int64_t bytes = checked_bytes(element.type, view.shape,
                                      subject_ + ", tensor " + printable(name));
  const SharedBytes storage = storage_of(view, name);
  check_not_expanded(view, name);
  check_bounds(view, name);
  charge(bytes, name);
  if (bytes == 0) return allocate_array(element.type, view.shape).array;
  if (element.same_bytes() && view.is_contiguous())
    return array_at(storage, static_cast<size_t>(view.offset * element.size),
                    element.type, view.shape);
  return gather(view, storage, name);
}

void TorchTensors::check(const PickleValue& value,
                         const std::string& name) const {
  const View view = parse_view(unwrap_parameter(value), name);
  // No element is larger than int64 but the complex ones, and half of 2^63
  // elements is as absurd.
  checked_bytes(ElementType::kInt64, view.shape,
                subject_ + ", tensor " + printable(name));
  check_storage_size(view, name);
  check_bounds(view, name);
}

const PickleValue& TorchTensors::unwrap_parameter(
    const PickleValue& value) const {
  if (!calls(value, kRebuildParameter) &&
      !calls(value, kRebuildParameterWithState))
    return value;
  const PickleValue& arguments = pickle_.item(value, 0);
  return arguments.items.empty() ? arguments : pickle_.item(arguments, 0);
}

// _rebuild_tensor_v2(storage, offset, shape, strides, ...); what follows
// concerns gradients.
TorchTensors::View TorchTensors::parse_view(const PickleValue& value,
                                            const std::string& name) const {
  const PickleValue* found = tensor_arguments(pickle_, value);
  if (found == nullptr) damaged(name, "expected a tensor inside the parameter");
  const PickleValue& arguments = *found;
  if (arguments.items.size() < 4)
    damaged(name, "expected a storage, an offset, a shape and strides");
  const PickleValue& storage = pickle_.item(arguments, 0);
  const PickleValue& offset = pickle_.item(arguments, 1);
  if (storage.kind != PickleKind::kPersistent)
    damaged(name, "expected a reference to a storage");
  if (offset.kind != PickleKind::kInt || offset.integer < 0)
    damaged(name, "expected an offset of at least 0");
  View view{parse_storage_id(pickle_, storage, subject_), offset.integer,
            parse_extents(pickle_.item(arguments, 2), name),
            parse_extents(pickle_.item(arguments, 3), name)};
  if (view.shape.size() != view.strides.size())
    damaged(name, "expected one stride per dimension");
  // The stride of a single element is never taken and may be any number.
  for (size_t i = 0; i < view.shape.size(); ++i)
    if (view.shape[i] == 1) view.strides[i] = 0;
  return view;
}

// A tuple of numbers, perhaps wrapped in torch.Size.
std::vector<int64_t> TorchTensors::parse_extents(
    const PickleValue& value, const std::string& name) const {
  const PickleValue* tuple = &value;
  if (calls(value, "torch.Size") && !pickle_.item(value, 0).items.empty())
    tuple = &pickle_.item(pickle_.item(value, 0), 0);
  if (tuple->kind != PickleKind::kTuple ||
      tuple->items.size() > kMostDimensions)
    damaged(name, "expected shape and strides as tuples of at most 64 numbers");
  std::vector<int64_t> extents;
  for (const PickleIndex item : tuple->items) {
    const PickleValue& extent = pickle_.at(item);
    if (extent.kind != PickleKind::kInt || extent.integer < 0)
      damaged(name, "expected shape and strides of at least 0");
    extents.push_back(extent.integer);
  }
  return extents;
}

SharedBytes TorchTensors::storage_of(const View& view,
                                     const std::string& name) {
  check_storage_size(view, name);
  const auto [found, is_new] = storages_.try_emplace(view.storage.key);
  if (is_new) {
    found->second = container_.storage(view.storage.key);
    budget_ += kMostSharing * static_cast<int64_t>(found->second.size);
  }
  return found->second;
}

// Before anything is unpacked: a small file may hold a gigabyte of zeros.
void TorchTensors::check_storage_size(const View& view,
                                      const std::string& name) const {
  const uint64_t found = container_.storage_size(view.storage.key);
  const auto size = static_cast<uint64_t>(view.storage.element->size);
  if (found % size != 0 ||
      found / size != static_cast<uint64_t>(view.storage.count))
    damaged(name, "expected " + std::to_string(view.storage.count) +
                      " elements of " + view.storage.element->name +
                      " in storage " + printable(view.storage.key) + ", got " +
                      std::to_string(found) + " bytes");
}

void TorchTensors::check_not_expanded(const View& view,
                                      const std::string& name) const {
  if (view.count() > view.storage.count)
    fail(ErrorKind::kUnsupported, subject_,
         "tensor " + printable(name) + " of " + std::to_string(view.count()) +
             " elements repeats a storage of " +
             std::to_string(view.storage.count) + "; save a contiguous copy");
}

void TorchTensors::check_bounds(const View& view,
                                const std::string& name) const {
  const int64_t available = view.storage.count;
  if (view.count() == 0) return;
  // The index of the last element; each term is checked before it can overflow.
  int64_t last = view.offset;
  for (size_t i = 0; i < view.shape.size() && last < available; ++i) {
    const int64_t steps = view.shape[i] - 1;
    last = steps > 0 && view.strides[i] > available / steps
               ? available
               : last + steps * view.strides[i];
  }
  if (last >= available)
    damaged(name, "it reaches out of its storage of " +
                      std::to_string(available) + " elements");
}

void TorchTensors::charge(int64_t bytes, const std::string& name) {
  if (bytes > budget_)
    damaged(name, "the tensors up to this one share their storages more than " +
                      std::to_string(kMostSharing) + " times over");
  budget_ -= bytes;
}

Array TorchTensors::gather(const View& view, const SharedBytes& storage,
                           const std::string& name) const {
  const TorchElement& element = *view.storage.element;
  auto [array, out] = allocate_array(element.type, view.shape);
  const int64_t out_size = element_size(element.type);
  std::vector<int64_t> position(view.shape.size(), 0);
  int64_t source = view.offset;
  for (int64_t left = array.count(); left > 0; --left, out += out_size) {
    if (!element.copy(storage.data.get() + source * element.size, out))
      fail(ErrorKind::kUnsupported, subject_,
           "tensor " + printable(name) + " holds a value of " + element.name +
               " that does not fit in " + element_name(element.type));
    // To the next position in C order, as an odometer turns.
    for (size_t i = position.size(); i-- > 0;) {
      source += view.strides[i];
      if (++position[i] < view.shape[i]) break;
      source -= view.strides[i] * view.shape[i];
      position[i] = 0;
    }
  }
  return array;
}

}  // namespace sotta
