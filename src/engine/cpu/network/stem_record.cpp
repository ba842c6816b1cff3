#include "engine/cpu/network/stem_record.h"

#include <algorithm>
#include <cstring>

namespace sotta::engine {
namespace {

bool same(const float* kept, StemRecord::Numbers numbers) {
  return std::memcmp(kept, numbers.data,
                     static_cast<size_t>(numbers.size) * sizeof(float)) == 0;
}

}  // namespace

bool StemRecord::begin(Numbers images, Numbers centres) {
  const bool known = there_ && images_ == images.size &&
                     centres_ == centres.size && same(kept_.data(), images) &&
                     same(kept_.data() + images_, centres);
  there_ = false;
  if (known) return true;
  ensure(kept_, images.size + centres.size);
  std::copy_n(images.data, images.size, kept_.data());
  std::copy_n(centres.data, centres.size, kept_.data() + images.size);
  images_ = images.size;
  centres_ = centres.size;
  return false;
}

}  // namespace sotta::engine
