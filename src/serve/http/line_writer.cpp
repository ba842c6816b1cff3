#include "serve/http/line_writer.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace sotta {
namespace {

using Lock = std::unique_lock<std::mutex>;

constexpr std::chrono::seconds kPatience{1};
constexpr size_t kPiece = 4096;  // for which a pipe that is ready has room

// What nobody can read any more is left out.
void write_in_pieces(int descriptor, std::string_view text) {
  while (!text.empty()) {
    pollfd place = {descriptor, POLLOUT, 0};
    if (::poll(&place, 1, -1) < 0 && errno != EINTR) return;
    const ssize_t written =
        ::write(descriptor, text.data(), std::min(text.size(), kPiece));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

struct LineWriter::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::string waiting;
  size_t lost = 0;  // lines since the last that says so
  bool writing = false, ended = false;

  bool is_idle() const { return waiting.empty() && lost == 0 && !writing; }
};

LineWriter::LineWriter(int descriptor, Lost lost, size_t most_bytes)
    : most_bytes_(most_bytes),
      queue_(std::make_shared<Queue>()),
      thread_([queue = queue_, descriptor, lost = std::move(lost)] {
        run(queue, descriptor, lost);
      }) {}

LineWriter::~LineWriter() {
  flush();
  bool is_idle = false;
  {
    const Lock lock(queue_->mutex);
    queue_->ended = true;
    is_idle = queue_->is_idle();
  }
  queue_->changed.notify_all();
  if (is_idle)
    thread_.join();
  else
    thread_.detach();  // nobody reads: it ends with the process
}

void LineWriter::write(const std::string& line) {
  {
    const Lock lock(queue_->mutex);
    if (queue_->waiting.size() + line.size() >= most_bytes_)
      ++queue_->lost;
    else
      queue_->waiting.append(line).append("\n");
  }
  queue_->changed.notify_all();
}

void LineWriter::flush() {
  Lock lock(queue_->mutex);
  queue_->changed.wait_for(lock, kPatience,
                           [this] { return queue_->is_idle(); });
}

void LineWriter::run(const std::shared_ptr<Queue>& queue, int descriptor,
                     const Lost& lost) {
  Lock lock(queue->mutex);
  for (;;) {
    queue->changed.wait(lock,
                        [&] { return queue->ended || !queue->is_idle(); });
    if (queue->is_idle()) return;
    std::string text = std::exchange(queue->waiting, "");
    if (const size_t lines = std::exchange(queue->lost, 0))
      text += lost(lines) + "\n";
    queue->writing = true;
    lock.unlock();
    write_in_pieces(descriptor, text);
    lock.lock();
    queue->writing = false;
    queue->changed.notify_all();
  }
}

}  // namespace sotta
