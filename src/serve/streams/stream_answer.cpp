#include "serve/streams/stream_answer.h"

#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>

#include "sotta/core/error.h"

#include "serve/streams/byte_stream.h"

namespace sotta {
namespace {

constexpr const char* kSubject = "stored answers";

auto fields(const StreamAnswer& answer) {
  return std::tie(answer.seq, answer.classes, answer.logits, answer.labels,
                  answer.confidences, answer.verdicts, answer.updates,
                  answer.guard);
}

void write(const StreamAnswer& answer, ByteWriter& writer) {
  writer.number(answer.seq);
  writer.number(answer.classes);
  writer.number(answer.updates);
  writer.numbers(answer.logits);
  writer.numbers(answer.labels);
  writer.numbers(answer.confidences);
  std::vector<uint8_t> verdicts;
  for (const Verdict verdict : answer.verdicts)
    verdicts.push_back(static_cast<uint8_t>(verdict));
  writer.numbers(verdicts);
  writer.text(answer.guard);
}

StreamAnswer read(ByteReader& reader) {
  StreamAnswer answer;
  answer.seq = reader.number<int64_t>();
  answer.classes = reader.number<int64_t>();
  answer.updates = reader.number<int64_t>();
  answer.logits = reader.numbers<float>();
  answer.labels = reader.numbers<int64_t>();
  answer.confidences = reader.numbers<float>();
  for (const uint8_t code : reader.numbers<uint8_t>()) {
    if (code >= kVerdicts)
      fail(ErrorKind::kBadFormat, kSubject, "expected a verdict, got another");
    answer.verdicts.push_back(static_cast<Verdict>(code));
  }
  answer.guard = reader.text();
  const size_t images = answer.images();
  if (answer.classes < 1 || answer.confidences.size() != images ||
      answer.verdicts.size() != images ||
      answer.logits.size() / static_cast<size_t>(answer.classes) != images ||
      answer.logits.size() % static_cast<size_t>(answer.classes) != 0)
    fail(ErrorKind::kBadFormat, kSubject,
         "expected all parts of an answer on as many images");
  return answer;
}

// Bytes that write() takes: numbers and counts of 8 each, and what they count.
size_t packed_size(const StreamAnswer& answer) {
  return 8 * 8 + 4 * answer.logits.size() + 8 * answer.labels.size() +
         4 * answer.confidences.size() + answer.verdicts.size() +
         answer.guard.size();
}

template <class Answers>
auto first_from(const Answers& answers, int64_t seq) {
  return std::lower_bound(
      answers.begin(), answers.end(), seq,
      [](const auto& one, int64_t wanted) { return one->seq < wanted; });
}

}  // namespace

bool operator==(const StreamAnswer& one, const StreamAnswer& other) {
  return fields(one) == fields(other);
}

uint64_t AnswerLog::new_history() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

void AnswerLog::add(StreamAnswer answer) {
  held_ += packed_size(answer);
  answers_.push_back(std::make_shared<const StreamAnswer>(std::move(answer)));
  while (answers_.size() > most_ || (held_ > bytes_ && answers_.size() > 1)) {
    held_ -= packed_size(*answers_.front());
    answers_.pop_front();
  }
}

void AnswerLog::add_all(const AnswerLog& others, int64_t end) {
  for (const auto& answer : others.answers_)
    if (answer->seq < end) add(*answer);
}

const StreamAnswer* AnswerLog::find(int64_t seq) const {
  const auto found = first_from(answers_, seq);
  return found == answers_.end() || (*found)->seq != seq ? nullptr
                                                         : found->get();
}

std::string AnswerLog::pack(int64_t from) const {
  const auto first = first_from(answers_, from);
  ByteWriter writer;
  writer.number<uint64_t>(static_cast<uint64_t>(answers_.end() - first));
  for (auto answer = first; answer != answers_.end(); ++answer)
    write(**answer, writer);
  return writer.take();
}

void AnswerLog::parse(const std::string& packed) {
  ByteReader reader(packed, kSubject);
  AnswerLog parsed(most_, bytes_);
  const auto count = reader.number<uint64_t>();
  for (uint64_t i = 0; i < count; ++i) {
    StreamAnswer answer = read(reader);
    if (!parsed.answers_.empty() && parsed.answers_.back()->seq >= answer.seq)
      fail(ErrorKind::kBadFormat, kSubject, "expected answers in their order");
    parsed.add(std::move(answer));
  }
  if (!reader.at_end())
    fail(ErrorKind::kBadFormat, kSubject, "expected nothing after the last");
  *this = std::move(parsed);
}

}  // namespace sotta
