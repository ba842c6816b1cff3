#include "engine/cpu/network/stem_cache.h"

#include <algorithm>
#include <cstring>

namespace sotta::engine {
namespace {

bool same_bits(const float* key, StemCache::Numbers numbers) {
  return std::memcmp(key, numbers.data,
                     static_cast<size_t>(numbers.size) * sizeof(float)) == 0;
}

}  // namespace

bool StemCache::lookup(Numbers images, Numbers centres) {
  const bool hit = valid_ && images_size_ == images.size &&
                   centres_size_ == centres.size &&
                   same_bits(key_.data(), images) &&
                   same_bits(key_.data() + images_size_, centres);
  valid_ = false;
  if (hit) return true;
  ensure_size(key_, images.size + centres.size);
  std::copy_n(images.data, images.size, key_.data());
  std::copy_n(centres.data, centres.size, key_.data() + images.size);
  images_size_ = images.size;
  centres_size_ = centres.size;
  return false;
}

}  // namespace sotta::engine
