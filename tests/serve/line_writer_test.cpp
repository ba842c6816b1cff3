#include "serve/http/line_writer.h"

#include <csignal>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sotta {
namespace {

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  ~Pipe() {
    close_reader();
    ::close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }

  // At least so many bytes.
  std::string read(size_t bytes) const {
    std::string text;
    char some[4096];
    while (text.size() < bytes) {
      const ssize_t more = ::read(ends_[0], some, sizeof some);
      if (more <= 0) break;
      text.append(some, static_cast<size_t>(more));
    }
    return text;
  }

 private:
  int ends_[2] = {-1, -1};
};

std::string lost_lines(size_t lines) {
  return "lost " + std::to_string(lines);
}

TEST(LineWriter, WritesLinesInTheirOrder) {
  const std::string lines = "one\n" + std::string(10000, 'x') + "\ntwo\n";
  Pipe pipe;
  LineWriter writer(pipe.writer(), lost_lines);

  writer.write("one");
  writer.write(std::string(10000, 'x'));
  writer.write("two");

  EXPECT_EQ(pipe.read(lines.size()), lines);
}

TEST(LineWriter, NobodyWaitsForAReaderWhoReadsNothingForAWhile) {
  constexpr size_t kLines = 3000, kSize = 100;
  Pipe pipe;
  LineWriter writer(pipe.writer(), lost_lines, /*most_bytes=*/100000);

  for (size_t i = 0; i < kLines; ++i)
    writer.write(std::string(kSize - 1, 'x'));

  std::string text;
  size_t written = 0, lost = 0;
  while (written + lost < kLines) {
    text += pipe.read(1);
    const size_t end = text.rfind('\n') + 1;
    std::istringstream whole(text.substr(0, end));
    text.erase(0, end);
    for (std::string line; std::getline(whole, line);)
      if (line == std::string(kSize - 1, 'x'))
        ++written;
      else
        lost += std::stoul(line.substr(5));
  }
  EXPECT_GT(lost, 0U);
  EXPECT_EQ(written + lost, kLines);
}

TEST(LineWriter, EndsThoughNobodyReads) {
  constexpr size_t kSize = 1 << 19;
  Pipe pipe;
  {
    LineWriter writer(pipe.writer(), lost_lines);
    writer.write(std::string(kSize, 'x'));
  }
  EXPECT_EQ(pipe.read(kSize + 1).size(), kSize + 1);  // its thread ends too
}

TEST(LineWriter, WhereTheReaderIsGoneSoAreTheLines) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.close_reader();
  LineWriter writer(pipe.writer(), lost_lines);

  for (int i = 0; i < 3; ++i) {
    writer.write("one");
    writer.flush();
  }
}

}  // namespace
}  // namespace sotta
