#include "adapt/image_memory.h"

#include <map>
#include <set>
#include <utility>

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"
#include "sotta/nn/pixels.h"
#include "sotta/nn/upload.h"

#include "adapt/bit_cast.h"

namespace sotta {
namespace {

constexpr int64_t kItemFields = 6;

at::Tensor pack(const std::vector<MemoryItem>& items) {
  std::vector<int64_t> words;
  for (const auto& item : items)
    words.insert(words.end(), {item.slot, item.sample, item.label,
                               bit_cast<int64_t>(item.confidence),
                               bit_cast<int64_t>(item.uncertainty), item.age});
  return at::tensor(words, at::kLong);
}

std::vector<MemoryItem> unpack(const at::Tensor& packed) {
  std::vector<MemoryItem> items;
  const auto* word = packed.data_ptr<int64_t>();
  for (int64_t i = 0; i < packed.numel(); i += kItemFields, word += kItemFields)
    items.push_back({word[0], word[1], word[2], bit_cast<double>(word[3]),
                     bit_cast<double>(word[4]), word[5]});
  return items;
}

}  // namespace

ImageMemory::ImageMemory(std::unique_ptr<SampleMemory> memory, int64_t capacity,
                         int64_t classes, Rng rng)
    : memory_(std::move(memory)),
      capacity_(capacity),
      classes_(classes),
      rng_(rng) {}

std::vector<Verdict> ImageMemory::offer(const at::Tensor& images,
                                        const Prediction& prediction) {
  const auto* label = prediction.labels.data_ptr<int64_t>();
  const auto* confidence = prediction.confidences.data_ptr<float>();
  const auto* uncertainty = prediction.entropies.data_ptr<float>();
  std::vector<Verdict> verdicts;
  std::map<int64_t, int64_t> writer;  // slot -> the last sample that got it
  for (int64_t i = 0; i < images.size(0); ++i) {
    const auto answer = memory_->offer(
        {0, offered_++, label[i], confidence[i], uncertainty[i], 0}, rng_);
    verdicts.push_back(answer.verdict);
    if (answer.slot >= 0) writer[answer.slot] = i;
  }
  if (writer.empty()) return verdicts;

  if (!slots_.defined()) {
    auto shape = images.sizes().vec();
    shape[0] = capacity_;
    slots_ = at::zeros(shape, images.options());
  }
  std::vector<int64_t> slots, rows;
  for (const auto& [slot, row] : writer) {
    slots.push_back(slot);
    rows.push_back(row);
  }
  const bool same_type = images.scalar_type() == slots_.scalar_type();
  if (!same_type) slots_ = as_floats(slots_);
  const auto index = [&](const std::vector<int64_t>& values) {
    return upload(at::tensor(values, at::kLong), images.device());
  };
  slots_.index_copy_(
      0, index(slots),
      (same_type ? images : as_floats(images)).index_select(0, index(rows)));
  return verdicts;
}

at::Tensor ImageMemory::images() const {
  std::vector<int64_t> slots;
  for (const auto& item : memory_->items())
    slots.push_back(item.slot);
  return slots_.index_select(
      0, upload(at::tensor(slots, at::kLong), slots_.device()));
}

void ImageMemory::exchange(StateArchive& archive, at::Device device) {
  archive("memory.rng", rng_);
  archive("memory.offered", offered_);
  archive.images("memory.images", slots_, device);
  archive("memory.items", {[&] { return pack(memory_->items()); },
                           [&](const at::Tensor& packed) {
                             check_content(packed,
                                           archive.stored("memory.images"));
                           },
                           [this](const at::Tensor& packed) {
                             memory_->set_items(unpack(packed));
                           }});
}

void ImageMemory::check_content(const at::Tensor& packed,
                                const at::Tensor& images) const {
  const auto refuse = [](const std::string& problem) {
    fail(ErrorKind::kBadFormat, "snapshot", problem);
  };
  if (images.defined() && images.size(0) != capacity_)
    refuse("expected a memory_capacity of " + std::to_string(capacity_) +
           ", got " + std::to_string(images.size(0)));
  const int64_t count = packed.numel() / kItemFields;
  if (count > 0 && !images.defined())
    refuse("expected the images of the memory's " + std::to_string(count) +
           " samples, found none");

  bool fits = packed.numel() % kItemFields == 0 && count <= capacity_;
  std::set<int64_t> slots;  // are taken in turn, and none is ever given back
  if (fits)
    for (const auto& item : unpack(packed))
      fits = fits && 0 <= item.slot && item.slot < count &&
             slots.insert(item.slot).second && 0 <= item.label &&
             item.label < classes_;
  if (!fits)
    refuse("its memory does not fit this adapter's of " +
           std::to_string(capacity_) + " samples");
}

}  // namespace sotta
