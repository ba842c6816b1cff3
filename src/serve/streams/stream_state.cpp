#include "serve/streams/stream_state.h"

#include <charconv>
#include <cstring>

#include "sotta/core/error.h"

#include "adapt/stored_count.h"
#include "data/tensor.h"
#include "serve/streams/checksum.h"

namespace sotta {
namespace {

constexpr const char* kFormat = "sotta stream 1";
constexpr const char* kAnswers = "serve.answers";  // no adapter's name
constexpr const char* kChecksum = "checksum";
constexpr const char* kAdapter = "adapter";  // the checksum of its state
constexpr const char* kAnswersEnd = "answers_end";

Array to_array(const std::string& bytes) {
  auto [array, writable] =
      allocate_array(ElementType::kUint8, {static_cast<int64_t>(bytes.size())});
  std::memcpy(writable, bytes.data(), bytes.size());
  return array;
}

void add_text(const std::string& text, Checksum& sum) {
  sum.update(text.data(), text.size());
}

void add_tensor(const std::string& name, const Array& array, Checksum& sum) {
  add_text(name, sum);
  add_text(element_name(array.type), sum);
  sum.update(array.shape.data(), array.shape.size() * sizeof(int64_t));
  sum.update(array.data.get(), static_cast<size_t>(array.bytes()));
}

std::string checksum_of(const TensorFile& file) {
  Checksum sum;
  for (const auto& [name, array] : file.tensors)
    add_tensor(name, array, sum);
  for (const auto& [key, value] : file.metadata) {
    if (key == kChecksum) continue;
    add_text(key, sum);
    add_text(value, sum);
  }
  return sum.text();
}

std::string adapter_checksum(const TensorFile& file) {
  Checksum sum;
  for (const auto& [name, array] : file.tensors)
    if (name != kAnswers) add_tensor(name, array, sum);
  return sum.text();
}

class Metadata {
 public:
  Metadata(const TensorFile& file, const std::string& subject)
      : file_(file), subject_(subject) {}

  const std::string& text(const char* key) const {
    const auto found = file_.metadata.find(key);
    if (found == file_.metadata.end())
      fail(ErrorKind::kBadFormat, subject_,
           "expected a stream's state, found no \"" + std::string(key) +
               "\" in its metadata");
    return found->second;
  }

  bool has(const char* key) const { return file_.metadata.count(key) > 0; }

  int64_t number(const char* key) const {
    const std::string& value = text(key);
    int64_t number = -1;
    const char* end = value.data() + value.size();
    const auto [stop, problem] = std::from_chars(value.data(), end, number);
    if (problem != std::errc() || stop != end || number < 0 ||
        number > kMostCounted)
      fail(ErrorKind::kBadFormat, subject_,
           "expected \"" + std::string(key) + "\" of 0 to " +
               std::to_string(kMostCounted) + ", to be counted on from");
    return number;
  }

 private:
  const TensorFile& file_;
  const std::string& subject_;
};

}  // namespace

TensorFile to_tensor_file(const StreamState& state, bool with_answers) {
  TensorFile file;
  for (const auto& [name, tensor] : state.adapter.tensors)
    file.tensors[name] = sotta::to_array(tensor);
  file.tensors[kAnswers] =
      to_array(with_answers ? state.answers.pack() : AnswerLog().pack());
  file.metadata = {{"format", kFormat},
                   {"identity", state.identity},
                   {"method", state.adapter.method},
                   {"next_seq", std::to_string(state.next_seq)},
                   {"frozen", state.frozen ? "1" : "0"},
                   {"guard", state.guard},
                   {"guard_trips", std::to_string(state.guard_trips)},
                   {"skipped", std::to_string(state.skipped)},
                   {kAdapter, adapter_checksum(file)}};
  if (const auto& progress = state.progress) {
    file.metadata["images"] = std::to_string(progress->images);
    file.metadata["updates"] = std::to_string(progress->updates);
    file.metadata["pending"] = std::to_string(progress->pending);
  }
  if (!with_answers)
    file.metadata[kAnswersEnd] = std::to_string(state.answers.end());
  file.metadata[kChecksum] = checksum_of(file);
  return file;
}

StateSummary summary_of(const TensorFile& file, const std::string& subject) {
  const Metadata metadata(file, subject);
  if (metadata.text("format") != kFormat)
    fail(ErrorKind::kBadFormat, subject,
         "expected the format \"" + std::string(kFormat) + "\", got another");
  StateSummary summary;
  summary.next_seq = metadata.number("next_seq");
  summary.frozen = metadata.number("frozen") != 0;
  summary.guard_trips = metadata.number("guard_trips");
  if (metadata.has("skipped"))  // earlier versions had none of these
    summary.skipped = metadata.number("skipped");
  if (metadata.has("updates"))
    summary.progress = {metadata.number("images"), metadata.number("updates"),
                        metadata.number("pending")};
  if (metadata.has(kAdapter)) summary.adapter = metadata.text(kAdapter);
  if (metadata.has(kAnswersEnd))
    summary.answers_end = metadata.number(kAnswersEnd);
  return summary;
}

StreamState to_stream_state(const TensorFile& file,
                            const std::string& subject) {
  const Metadata metadata(file, subject);
  const StateSummary summary = summary_of(file, subject);
  if (metadata.text(kChecksum) != checksum_of(file))
    fail(ErrorKind::kBadFormat, subject,
         "is damaged, its checksum does not fit its content");
  StreamState state;
  state.identity = metadata.text("identity");
  state.adapter.method = metadata.text("method");
  state.next_seq = summary.next_seq;
  state.frozen = summary.frozen;
  state.guard = metadata.text("guard");
  state.guard_trips = summary.guard_trips;
  state.skipped = summary.skipped;
  state.progress = summary.progress;
  state.answers_end = summary.answers_end;
  for (const auto& [name, array] : file.tensors) {
    if (name != kAnswers) {
      state.adapter.tensors[name] = to_tensor(array).clone();
      continue;
    }
    if (array.type != ElementType::kUint8)
      fail(ErrorKind::kBadFormat, subject, "expected answers as uint8");
    state.answers.parse({reinterpret_cast<const char*>(array.data.get()),
                         static_cast<size_t>(array.bytes())});
    // Those to come would stand behind them, out of their order.
    if (state.answers.end() > state.next_seq)
      fail(ErrorKind::kBadFormat, subject,
           "expected answers to requests before next_seq alone");
  }
  return state;
}

}  // namespace sotta
