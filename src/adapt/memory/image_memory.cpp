#include "adapt/memory/image_memory.h"

#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"

#include "adapt/bit_cast.h"
#include "adapt/memory/images.h"
#include "adapt/stored_count.h"
#include "nn/picked_rows.h"
#include "nn/pixels.h"

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
  nothing_waits();
}

std::vector<Verdict> ImageMemory::offer(const at::Tensor& images,
                                        const Prediction& prediction,
                                        const std::vector<bool>& foreign,
                                        const std::vector<bool>& keep) {
  if (arrived_.defined() && arrived_.size(0) >= capacity_) settle(placed({}));
  const auto* label = prediction.labels.data_ptr<int64_t>();
  const auto* confidence = prediction.confidences.data_ptr<float>();
  const auto* uncertainty = prediction.entropies.data_ptr<float>();
  // Memory may run out here, before anything changes; after keep_only() nothing
  // waits beside the slots.
  at::Tensor joined =
      join_images(keep.empty() ? arrived_ : at::Tensor(), images);
  if (!keep.empty()) keep_only(keep);
  const int64_t before = arrived_.defined() ? arrived_.size(0) : 0;
  std::vector<Verdict> verdicts;
  std::vector<int64_t> place = place_;
  for (int64_t i = 0; i < images.size(0); ++i) {
    const int64_t sample = offered_++;
    if (!is_finite(prediction, i)) {  // nothing to judge it by, or learn
      verdicts.push_back(Verdict::kNotFinite);
      continue;
    }
    if (!foreign.empty() && foreign[static_cast<size_t>(i)]) {
      verdicts.push_back(Verdict::kForeign);
      continue;
    }
    const auto answer = memory_->offer(
        {0, sample, label[i], confidence[i], uncertainty[i], 0}, rng_);
    verdicts.push_back(answer.verdict);
    if (answer.slot >= 0)
      place.at(static_cast<size_t>(answer.slot)) = capacity_ + before + i;
  }
  if (place == place_) return verdicts;
  arrived_ = std::move(joined);
  place_ = std::move(place);
  return verdicts;
}

at::Tensor ImageMemory::images() {
  const auto items = memory_->items();
  const at::Tensor found = placed(items);
  settle(found);
  return found.narrow(0, capacity_, static_cast<int64_t>(items.size()));
}

at::Tensor ImageMemory::copy_images() const {
  if (empty()) return {};
  const auto items = memory_->items();
  return placed(items)
      .narrow(0, capacity_, static_cast<int64_t>(items.size()))
      .clone();
}

void ImageMemory::keep_only(const std::vector<bool>& keep) {
  const auto items = memory_->items();
  const at::Tensor found = placed(items);
  std::vector<MemoryItem> kept;
  std::vector<int64_t> places;  // slots are taken in turn
  for (size_t i = 0; i < items.size(); ++i) {
    if (!keep[i]) continue;
    kept.push_back(items[i]);
    kept.back().slot = static_cast<int64_t>(places.size());
    places.push_back(capacity_ + static_cast<int64_t>(i));
  }
  places.resize(static_cast<size_t>(capacity_), 0);
  slots_ = picked_rows(found, found.narrow(0, 0, 0), places);
  nothing_waits();
  memory_->set_items(kept);
}

// All slots with what has arrived in its place, and behind them the images of
// these items, in their order.
at::Tensor ImageMemory::placed(const std::vector<MemoryItem>& wanted) const {
  at::Tensor slots = slots_, arrived = arrived_;
  if (!slots.defined()) {
    auto shape = arrived.sizes().vec();
    shape[0] = capacity_;
    slots = at::zeros(shape, arrived.options());
  }
  if (!arrived.defined()) arrived = slots.narrow(0, 0, 0);
  if (arrived.scalar_type() != slots.scalar_type()) {
    slots = as_floats(slots);
    arrived = as_floats(arrived);
  }
  std::vector<int64_t> places = place_;
  for (const auto& item : wanted)
    places.push_back(place_.at(static_cast<size_t>(item.slot)));
  return picked_rows(slots, arrived, places);
}

void ImageMemory::settle(const at::Tensor& placed) {
  slots_ = placed.narrow(0, 0, capacity_);
  nothing_waits();
}

void ImageMemory::nothing_waits() {
  arrived_ = at::Tensor();
  std::iota(place_.begin(), place_.end(), 0);
}

void ImageMemory::exchange(StateArchive& archive, at::Device device) {
  archive.survives_trial([&] { archive("memory.rng", rng_); });
  archive("memory.offered", offered_);
  if (!archive.saving()) check_stored_count(archive, "memory.offered");
  at::Tensor whole;  // for saving, which leaves what waits where it is
  if (archive.saving() && arrived_.defined())
    whole = placed({}).narrow(0, 0, capacity_);
  archive.images("memory.images", whole.defined() ? whole : slots_, device);
  archive("memory.items",
          {[&] { return pack(memory_->items()); },
           [&](const at::Tensor& packed) {
             check_content(packed, archive.stored("memory.images"));
           },
           [this, aged = archive.keeps_survivors()](const at::Tensor& packed) {
             auto items = unpack(packed);
             if (aged) take_ages(items);
             memory_->set_items(items);
             nothing_waits();
           }});
}

// A trial that is taken back: the published code saved the list of samples, not
// the samples, which have aged in the trial. One that the trial threw out keeps
// the age it had before; in the published code it aged until then.
void ImageMemory::take_ages(std::vector<MemoryItem>& items) const {
  std::map<int64_t, int64_t> age_of;
  for (const auto& item : memory_->items())
    age_of[item.sample] = item.age;
  for (auto& item : items)
    if (const auto found = age_of.find(item.sample); found != age_of.end())
      item.age = found->second;
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
             item.label < classes_ && 0 <= item.age && item.age <= kMostCounted;
  if (!fits)
    refuse("its memory does not fit this adapter's of " +
           std::to_string(capacity_) + " samples");
}

}  // namespace sotta
