#include "adapt/image_memory.h"

#include <numeric>
#include <set>
#include <utility>

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"
#include "sotta/nn/picked_rows.h"
#include "sotta/nn/pixels.h"

#include "adapt/bit_cast.h"
#include "adapt/images.h"

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
      rng_(rng),
      place_(static_cast<size_t>(capacity)) {
  std::iota(place_.begin(), place_.end(), 0);
}

std::vector<Verdict> ImageMemory::offer(const at::Tensor& images,
                                        const Prediction& prediction) {
  const auto* label = prediction.labels.data_ptr<int64_t>();
  const auto* confidence = prediction.confidences.data_ptr<float>();
  const auto* uncertainty = prediction.entropies.data_ptr<float>();
  const int64_t before = arrived_.defined() ? arrived_.size(0) : 0;
  std::vector<Verdict> verdicts;
  bool keeps_some = false;
  for (int64_t i = 0; i < images.size(0); ++i) {
    const auto answer = memory_->offer(
        {0, offered_++, label[i], confidence[i], uncertainty[i], 0}, rng_);
    verdicts.push_back(answer.verdict);
    if (answer.slot < 0) continue;
    place_.at(static_cast<size_t>(answer.slot)) = capacity_ + before + i;
    keeps_some = true;
  }
  if (keeps_some) arrived_ = join_images(arrived_, images);
  return verdicts;
}

at::Tensor ImageMemory::images() {
  return put_in_place(memory_->items());
}

// Gives the images of these items, in their order.
at::Tensor ImageMemory::put_in_place(const std::vector<MemoryItem>& wanted) {
  if (arrived_.defined() && !slots_.defined()) {
    auto shape = arrived_.sizes().vec();
    shape[0] = capacity_;
    slots_ = at::zeros(shape, arrived_.options());
  }
  at::Tensor arrived =
      arrived_.defined() ? std::exchange(arrived_, {}) : slots_.narrow(0, 0, 0);
  if (arrived.scalar_type() != slots_.scalar_type()) {
    arrived = as_floats(arrived);
    slots_ = as_floats(slots_);
  }
  std::vector<int64_t> places = place_;
  for (const auto& item : wanted)
    places.push_back(place_.at(static_cast<size_t>(item.slot)));
  const at::Tensor found = picked_rows(slots_, arrived, places);
  slots_ = found.narrow(0, 0, capacity_);
  std::iota(place_.begin(), place_.end(), 0);
  return found.narrow(0, capacity_, static_cast<int64_t>(wanted.size()));
}

void ImageMemory::exchange(StateArchive& archive, at::Device device) {
  if (arrived_.defined()) put_in_place({});
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
