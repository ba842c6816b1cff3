#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include <ATen/core/Tensor.h>

namespace sotta {

// Reads the images of a stream in a thread of its own before they are asked
// for, in their order and never more than `capacity` of them at a time; the
// image sets spread the work of one chunk over further threads.
class ReadAhead {
 public:
  // The images begin .. end-1, [N, ...]. May throw; may be called from two
  // threads at once.
  using Read = std::function<at::Tensor(int64_t begin, int64_t end)>;

  // Begins with the image `begin` and ends before `end`. The capacity is at
  // least 1.
  ReadAhead(Read read, int64_t begin, int64_t end, int64_t capacity);
  ~ReadAhead();  // waits for the chunk that is being read
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Copies the next images.size(0) images there. There must be as many left.
  //
  // Throws what read() throws for an image among them; for images before one
  // that cannot be read it does not. No call may follow a failed one.
  void take(const at::Tensor& images);

 private:
  struct Chunk {
    int64_t begin;
    int64_t end;
    at::Tensor images;  // undefined if it could not be read
  };

  void run(int64_t begin, int64_t end);
  bool wait_for_room(int64_t count);
  Chunk front();
  void drop_front();
  bool copy_from_front(const at::Tensor& images);  // whether it is used up

  const Read read_;
  const int64_t capacity_;
  const int64_t chunk_size_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Chunk> chunks_;  // read and not all taken, in order
  int64_t in_flight_ = 0;     // images of these and of the one being read
  bool stopping_ = false;

  int64_t position_;  // of take(); the thread does not look at it

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace sotta
