#include "serve/streams/stream_state.h"

#include <charconv>
#include <cstring>
#include <limits>

#include "sotta/core/error.h"

#include "data/tensor.h"
#include "serve/streams/checksum.h"

namespace sotta {
namespace {

constexpr const char* kFormat = "sotta stream 1";
constexpr const char* kAnswers = "serve.answers";  // no adapter's name
constexpr const char* kChecksum = "checksum";

Array to_array(const std::string& bytes) {
  auto [array, writable] =
      allocate_array(ElementType::kUint8, {static_cast<int64_t>(bytes.size())});
  std::memcpy(writable, bytes.data(), bytes.size());
  return array;
}

std::string checksum_of(const TensorFile& file) {
  Checksum sum;
  const auto add = [&](const std::string& text) {
    sum.update(text.data(), text.size());
  };
  for (const auto& [name, array] : file.tensors) {
    add(name);
    add(element_name(array.type));
    sum.update(array.shape.data(), array.shape.size() * sizeof(int64_t));
    sum.update(array.data.get(), static_cast<size_t>(array.bytes()));
  }
  for (const auto& [key, value] : file.metadata) {
    if (key == kChecksum) continue;
    add(key);
    add(value);
  }
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

  int64_t number(const char* key) const {
    const std::string& value = text(key);
    int64_t number = -1;
    const char* end = value.data() + value.size();
    const auto [stop, problem] = std::from_chars(value.data(), end, number);
    if (problem != std::errc() || stop != end || number < 0)
      fail(ErrorKind::kBadFormat, subject_,
           "expected \"" + std::string(key) + "\" of at least 0");
    return number;
  }

 private:
  const TensorFile& file_;
  const std::string& subject_;
};

}  // namespace

TensorFile to_tensor_file(const StreamState& state) {
  TensorFile file;
  for (const auto& [name, tensor] : state.adapter.tensors)
    file.tensors[name] = sotta::to_array(tensor);
  file.tensors[kAnswers] = to_array(state.answers.pack());
  file.metadata = {{"format", kFormat},
                   {"identity", state.identity},
                   {"method", state.adapter.method},
                   {"next_seq", std::to_string(state.next_seq)},
                   {"frozen", state.frozen ? "1" : "0"},
                   {"guard", state.guard},
                   {"guard_trips", std::to_string(state.guard_trips)},
                   {"skipped", std::to_string(state.skipped)}};
  file.metadata[kChecksum] = checksum_of(file);
  return file;
}

StreamState to_stream_state(const TensorFile& file,
                            const std::string& subject) {
  const Metadata metadata(file, subject);
  if (metadata.text("format") != kFormat)
    fail(ErrorKind::kBadFormat, subject,
         "expected the format \"" + std::string(kFormat) + "\", got another");
  if (metadata.text(kChecksum) != checksum_of(file))
    fail(ErrorKind::kBadFormat, subject,
         "is damaged, its checksum does not fit its content");
  StreamState state;
  state.identity = metadata.text("identity");
  state.adapter.method = metadata.text("method");
  state.next_seq = metadata.number("next_seq");
  if (state.next_seq == std::numeric_limits<int64_t>::max())
    fail(ErrorKind::kBadFormat, subject,
         "expected a next_seq that can be counted on from");
  state.frozen = metadata.number("frozen") != 0;
  state.guard = metadata.text("guard");
  state.guard_trips = metadata.number("guard_trips");
  if (file.metadata.count("skipped") > 0)  // earlier versions had none
    state.skipped = metadata.number("skipped");
  for (const auto& [name, array] : file.tensors) {
    if (name != kAnswers) {
      state.adapter.tensors[name] = to_tensor(array).clone();
      continue;
    }
    if (array.type != ElementType::kUint8)
      fail(ErrorKind::kBadFormat, subject, "expected answers as uint8");
    state.answers.parse({reinterpret_cast<const char*>(array.data.get()),
                         static_cast<size_t>(array.bytes())});
  }
  return state;
}

}  // namespace sotta
