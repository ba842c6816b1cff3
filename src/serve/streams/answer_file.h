#pragma once

#include <cstdint>
#include <filesystem>

#include "serve/streams/stream_answer.h"

namespace sotta {

// The stored answers of a stream in a file that grows with them, so that a
// snapshot after every update need not hold all of them again. In blocks: a
// length in 8 bytes, a Checksum in 16 characters, and AnswerLog::pack() of the
// answers since the block before.
class AnswerFile {
 public:
  // Makes the file, with these answers. Returns when they have reached the
  // disk. Throws Error(kIo) when the system refuses.
  AnswerFile(std::filesystem::path file, const AnswerLog& answers);

  // Whether append() of these would leave the file as if made of them alone,
  // and it is not much longer than that would be.
  bool continues_with(const AnswerLog& answers) const;

  // Adds those it does not have. Returns when they have reached the disk.
  // Throws Error(kIo); then there may be a part of a block, which would hide
  // what follows, so nothing more may be appended.
  void append(const AnswerLog& answers);

 private:
  void write(const AnswerLog& answers, int flags);

  std::filesystem::path file_;  // open while it is written to alone
  uint64_t history_ = 0;
  int64_t end_ = 0;  // one more than the last answer's seq
  size_t bytes_ = 0;
};

// The answers to requests before `end`, from blocks that are whole; what
// follows one that is not is left out. Nothing if there is no file.
AnswerLog read_answers(const std::filesystem::path& file, int64_t end);

}  // namespace sotta
