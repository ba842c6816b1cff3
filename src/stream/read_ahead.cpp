#include "stream/read_ahead.h"

#include <algorithm>
#include <utility>

namespace sotta {

ReadAhead::ReadAhead(Read read, int64_t begin, int64_t end, int64_t capacity)
    : read_(std::move(read)),
      capacity_(capacity),
      // While one chunk is taken and one is read, two can lie ready.
      chunk_size_(std::max<int64_t>(1, capacity / 4)),
      position_(begin),
      thread_([this, begin, end] { run(begin, end); }) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::run(int64_t begin, int64_t end) {
  while (begin < end) {
    Chunk chunk{begin, std::min(begin + chunk_size_, end), {}};
    if (!wait_for_room(chunk.end - chunk.begin)) return;
    try {
      chunk.images = read_(chunk.begin, chunk.end);
    } catch (...) {
      // Whether this concerns anybody shows when the images are asked for:
      // take() then reads what it needs itself and meets the same error.
    }
    begin = chunk.end;
    {
      const std::lock_guard lock(mutex_);
      chunks_.push_back(std::move(chunk));
    }
    changed_.notify_all();
  }
}

bool ReadAhead::wait_for_room(int64_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return stopping_ || in_flight_ + count <= capacity_; });
  in_flight_ += count;
  return !stopping_;
}

ReadAhead::Chunk ReadAhead::front() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !chunks_.empty(); });
  return chunks_.front();
}

void ReadAhead::drop_front() {
  {
    const std::lock_guard lock(mutex_);
    in_flight_ -= chunks_.front().end - chunks_.front().begin;
    chunks_.pop_front();
  }
  changed_.notify_all();
}

void ReadAhead::take(const at::Tensor& images) {
  const int64_t first = position_;
  const int64_t last = first + images.size(0);
  while (position_ < last) {
    const int64_t begin = position_ - first;
    if (copy_from_front(images.slice(0, begin))) drop_front();
  }
}

bool ReadAhead::copy_from_front(const at::Tensor& images) {
  const Chunk chunk = front();
  const int64_t end = std::min(chunk.end, position_ + images.size(0));
  const at::Tensor part =
      chunk.images.defined()
          ? chunk.images.slice(0, position_ - chunk.begin, end - chunk.begin)
          : read_(position_, end);
  images.slice(0, 0, end - position_).copy_(part);
  position_ = end;
  return end == chunk.end;
}

}  // namespace sotta
