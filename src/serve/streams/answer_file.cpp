#include "serve/streams/answer_file.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "core/atomic_file.h"
#include "core/output_place.h"
#include "serve/streams/checksum.h"
#include "serve/streams/whole_file.h"

namespace sotta {
namespace {

constexpr size_t kFrontSize = sizeof(uint64_t) + Checksum::kDigits;

std::string checksum_of(std::string_view bytes) {
  Checksum sum;
  sum.update(bytes.data(), bytes.size());
  return sum.text();
}

// Takes the block at the front of `bytes`; none if that is not whole.
std::optional<std::string_view> take_block(std::string_view& bytes) {
  if (bytes.size() < kFrontSize) return std::nullopt;
  uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  if (size > bytes.size() - kFrontSize) return std::nullopt;
  const auto sum = bytes.substr(sizeof size, Checksum::kDigits);
  const auto block = bytes.substr(kFrontSize, size);
  if (checksum_of(block) != sum) return std::nullopt;
  bytes.remove_prefix(kFrontSize + block.size());
  return block;
}

}  // namespace

AnswerFile::AnswerFile(std::filesystem::path file, const AnswerLog& answers)
    : file_(std::move(file)), history_(answers.history()) {
  write(answers, O_CREAT | O_TRUNC);
  sync_file(file_);  // its name too
}

// With twice the bytes it is made anew: each answer is then written twice at
// the most, and once more.
bool AnswerFile::continues_with(const AnswerLog& answers) const {
  return answers.history() == history_ && answers.end() >= end_ &&
         bytes_ <= 2 * answers.packed_bytes() + kFrontSize;
}

void AnswerFile::append(const AnswerLog& answers) {
  if (answers.end() > end_) write(answers, O_APPEND);
}

void AnswerFile::write(const AnswerLog& answers, int flags) {
  const std::string packed = answers.pack(end_);
  const uint64_t size = packed.size();
  const std::string block =
      std::string(reinterpret_cast<const char*>(&size), sizeof size) +
      checksum_of(packed) + packed;
  const int descriptor =
      ::open(file_.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  if (descriptor < 0) fail_to_write(file_, errno);
  const bool written = write_all(descriptor, block.data(), block.size()) &&
                       (::fdatasync(descriptor) == 0 || errno == EINVAL);
  const int problem = errno;
  ::close(descriptor);
  if (!written) fail_to_write(file_, problem);
  end_ = answers.end();
  bytes_ += block.size();
}

AnswerLog read_answers(const std::filesystem::path& file, int64_t end) {
  const std::string content = read_whole_file(file);
  std::string_view bytes = content;
  AnswerLog answers;
  while (const auto block = take_block(bytes)) {
    AnswerLog some;
    some.parse(std::string(*block));
    answers.add_all(some, end);
  }
  return answers;
}

}  // namespace sotta
