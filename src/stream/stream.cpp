#include "sotta/stream/stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>

#include "sotta/core/error.h"

#include "stream/foreign_images.h"
#include "stream/read_ahead.h"

namespace sotta {

// What the reading thread holds on to; the stream itself may move.
struct Stream::Recipe {
  std::shared_ptr<const StreamPlan> plan;
  std::vector<std::shared_ptr<const Dataset>> sets;  // domains, then foreign
  ImageShape shape;

  at::Tensor read(int64_t begin, int64_t end) const;

 private:
  size_t set_of(const SampleTruth& sample) const {
    return sample.origin == Origin::kForeign
               ? sets.size() - 1
               : static_cast<size_t>(sample.domain);
  }
};

namespace {

// The images a plan needs of the foreign set, or of each domain.
int64_t needed_images(const StreamPlan& plan, bool foreign) {
  int64_t needed = 0;
  for (const SampleTruth& sample : plan.samples())
    if ((sample.origin == Origin::kForeign) == foreign)
      needed = std::max(needed, sample.index + 1);
  return needed;
}

void check_domains(const StreamPlan& plan, const StreamSources& sources) {
  require(plan.domains().size() == sources.domains.size(), "Stream",
          "the plan has " + std::to_string(plan.domains().size()) +
              " domains, the sources have " +
              std::to_string(sources.domains.size()));
  const int64_t needed = needed_images(plan, /*foreign=*/false);
  for (const StreamDomain& domain : sources.domains)
    require(domain.images && needed <= domain.images->size(), "Stream",
            "the plan asks for more images than the domain " + domain.name +
                " has");
}

void check_foreign(const StreamPlan& plan, const Dataset* images) {
  const int64_t needed = needed_images(plan, /*foreign=*/true);
  require(needed == 0 || (images && needed <= images->size()), "Stream",
          "the plan asks for more images than the foreign set has");
}

}  // namespace

at::Tensor Stream::Recipe::read(int64_t begin, int64_t end) const {
  const at::Tensor images = at::empty(
      {end - begin, shape.channels, shape.height, shape.width}, at::kByte);
  const auto image_bytes =
      static_cast<size_t>(shape.channels * shape.height * shape.width);
  auto* pixels = images.data_ptr<uint8_t>();
  for (size_t set = 0; set < sets.size(); ++set) {
    std::vector<int64_t> indices;
    std::vector<size_t> rows;
    for (int64_t i = begin; i < end; ++i)
      if (const SampleTruth& sample = (*plan)[i]; set_of(sample) == set) {
        indices.push_back(sample.index);
        rows.push_back(static_cast<size_t>(i - begin));
      }
    if (indices.empty()) continue;
    const at::Tensor part = sets[set]->get(indices).images.contiguous();
    const auto* from = part.data_ptr<uint8_t>();
    for (size_t i = 0; i < rows.size(); ++i)
      std::memcpy(pixels + rows[i] * image_bytes, from + i * image_bytes,
                  image_bytes);
  }
  return images;
}

Stream::Stream(std::shared_ptr<const StreamPlan> plan,
               const StreamSources& sources) {
  check_domains(*plan, sources);
  const auto foreign = foreign_images(plan->options(), sources);
  check_foreign(*plan, foreign.get());
  Recipe recipe;
  for (const StreamDomain& domain : sources.domains)
    recipe.sets.push_back(domain.images);
  recipe.shape = shape_ = recipe.sets[0]->shape();
  recipe.sets.push_back(foreign);
  recipe.plan = std::move(plan);
  recipe_ = std::make_shared<const Recipe>(std::move(recipe));
}

Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

int64_t Stream::size() const {
  return recipe_->plan->size();
}

at::Tensor Stream::next(int64_t count) {
  require(count >= 0, "Stream",
          "expected a count of at least 0, got " + std::to_string(count));
  const int64_t end = position_ + std::min(count, size() - position_);
  const int64_t capacity = recipe_->plan->options().read_ahead;
  if (capacity == 0 || position_ == end) {
    const at::Tensor images = recipe_->read(position_, end);
    position_ = end;
    return images;
  }
  if (!reader_)
    reader_ = std::make_unique<ReadAhead>(
        [recipe = recipe_](int64_t first, int64_t last) {
          return recipe->read(first, last);
        },
        position_, size(), capacity);
  const at::Tensor images =
      at::empty({end - position_, shape_.channels, shape_.height, shape_.width},
                at::kByte);
  try {
    reader_->take(images);
  } catch (...) {
    reader_.reset();
    throw;
  }
  position_ = end;
  return images;
}

void Stream::seek(int64_t position) {
  require(0 <= position && position <= size(), "Stream",
          "expected a position within 0 .. " + std::to_string(size()) +
              ", got " + std::to_string(position));
  if (position == position_) return;
  reader_.reset();
  position_ = position;
}

at::Tensor Stream::read(int64_t begin, int64_t end) const {
  require(0 <= begin && begin <= end && end <= size(), "Stream",
          "expected a range within 0 .. " + std::to_string(size()) + ", got " +
              std::to_string(begin) + " .. " + std::to_string(end));
  return recipe_->read(begin, end);
}

}  // namespace sotta
