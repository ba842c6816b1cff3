#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace sotta {

// Writes lines to a descriptor in a thread of its own: whoever logs does not
// wait for whoever reads, who may read nothing any more. Lines for which there
// is no room among those that wait are lost, and one line says how many.
//
// Thread-safe.
class LineWriter {
 public:
  // `lost` makes that line.
  using Lost = std::function<std::string(size_t lines)>;
  LineWriter(int descriptor, Lost lost, size_t most_bytes = 1 << 20);
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Adds the end of the line.
  void write(const std::string& line);

  // Waits until all is written, for a second at the most.
  void flush();

 private:
  struct Queue;
  static void run(const std::shared_ptr<Queue>& queue, int descriptor,
                  const Lost& lost);

  const size_t most_bytes_;
  std::shared_ptr<Queue> queue_;  // the thread's too, which may outlive this
  std::thread thread_;
};

}  // namespace sotta
