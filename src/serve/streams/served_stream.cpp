#include "serve/streams/served_stream.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "data/tensor.h"
#include "gpu/device_work.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

at::Device device_of(const Adapter& adapter) {
  return adapter.model().source().affine.device();
}

template <class Number>
void append(const at::Tensor& values, std::vector<Number>& to) {
  const at::Tensor plain = values.cpu().contiguous();
  const auto* begin = plain.data_ptr<Number>();
  to.insert(to.end(), begin, begin + plain.numel());
}

void append(const at::Tensor& logits, const Prediction& prediction,
            StreamAnswer& answer) {
  answer.classes = logits.size(1);
  append(logits, answer.logits);
  append(prediction.labels, answer.labels);
  append(prediction.confidences, answer.confidences);
}

}  // namespace

StreamAnswer answer_with(const Adapter& adapter, const at::Tensor& images) {
  const at::Device device = device_of(adapter);
  const DeviceWork at_work(device);
  const at::Tensor logits = adapter.method().predict(images.to(device));
  StreamAnswer answer;
  append(logits, classify(logits), answer);
  answer.verdicts.assign(static_cast<size_t>(images.size(0)),
                         Verdict::kNotScreened);
  answer.updates = adapter.updates();
  return answer;
}

ServedStream::ServedStream(std::unique_ptr<Adapter> adapter,
                           StreamFolder folder, StreamOptions options)
    : adapter_(std::move(adapter)),
      folder_(std::move(folder)),
      options_(std::move(options)) {
  const auto loaded = folder_.load();
  if (!loaded) return;
  restore(loaded->state);
  snapshot_ = loaded->number;
  durable_seq_ = next_seq_;
  for (const std::string& problem : loaded->damaged) {
    notice_ += (notice_.empty() ? "" : "; ") + problem;
    log(LogLevel::kWarning,
        problem + "; went on from snapshot " + std::to_string(loaded->number));
  }
  repeat(folder_.requests_since(loaded->number));
  if (options_.journal && !journal_) save();
}

void ServedStream::restore(const StreamState& state) {
  if (state.identity != options_.identity)
    throw RequestError(HttpStatus::kConflict, "stream",
                       "its state belongs to another model, method or options");
  adapter_->restore(state.adapter);
  next_seq_ = state.next_seq;
  frozen_ = state.frozen;
  guard_ = state.guard;
  guard_trips_ = state.guard_trips;
  answers_ = state.answers;
}

// What a crash came between: answered, and in no snapshot.
void ServedStream::repeat(const std::vector<StreamRequest>& requests) {
  bool any = false;
  for (const StreamRequest& request : requests) {
    if (*request.seq < next_seq_) continue;
    if (*request.seq > next_seq_) break;
    if (adapter_->update_due()) learn();
    take(request);
    any = true;
  }
  if (adapter_->update_due()) learn();
  if (any) save();
}

InferResult ServedStream::infer(const StreamRequest& request) {
  finish();
  if (request.seq && *request.seq < next_seq_)
    return stored_reply(*request.seq);
  if (!problem_.empty() && !has_work()) save();  // finish() has tried
  if (!problem_.empty()) {                       // answered, not counted
    check_size(request);
    StreamAnswer answer = answer_with(*adapter_, request.images);
    answer.seq = request.seq.value_or(next_seq_);
    return reply(std::move(answer));
  }
  if (request.seq && *request.seq > next_seq_) {
    RequestError error(HttpStatus::kConflict, "seq",
                       "expected " + std::to_string(next_seq_) + ", got " +
                           std::to_string(*request.seq));
    error.next_seq = next_seq_;
    throw error;
  }
  check_size(request);
  InferResult result = reply(take(request));
  if (options_.journal) keep_on_disk(request);
  result.next_seq = next_seq_;
  result.durable_seq = durable_seq_;
  result.frozen = why_frozen();
  return result;
}

InferResult ServedStream::reply(StreamAnswer answer) const {
  return {std::move(answer), next_seq_, durable_seq_, why_frozen()};
}

InferResult ServedStream::stored_reply(int64_t seq) const {
  if (const StreamAnswer* answer = answers_.find(seq)) return reply(*answer);
  RequestError error(HttpStatus::kConflict, "seq",
                     "expected " + std::to_string(next_seq_) +
                         " or one of the last answers, got " +
                         std::to_string(seq));
  error.next_seq = next_seq_;
  throw error;
}

void ServedStream::check_size(const StreamRequest& request) const {
  const int64_t height = adapter_->image_height();
  const int64_t width = adapter_->image_width();
  const auto& images = request.images;
  if (height == 0 || request.reset ||
      (images.size(2) == height && images.size(3) == width))
    return;
  throw RequestError(HttpStatus::kBadRequest, "images",
                     "expected " + std::to_string(height) + " x " +
                         std::to_string(width) +
                         " pixels as before in this stream, got " +
                         std::to_string(images.size(2)) + " x " +
                         std::to_string(images.size(3)));
}

// Processes the next request. Nothing has changed if it throws.
StreamAnswer ServedStream::take(const StreamRequest& request) {
  const at::Tensor images = request.images.to(device_of(*adapter_));
  if (request.reset) {
    const Snapshot before = adapter_->snapshot();
    adapter_->reset();
    try {
      adapter_->predict(images);
    } catch (...) {
      adapter_->restore(before);
      throw;
    }
  }
  StreamAnswer answer = request.adapt && !frozen_
                            ? observe(images)
                            : answer_with(*adapter_, images);
  answer.seq = next_seq_;
  answer.guard = std::exchange(guard_, "");
  answers_.add(answer);
  ++next_seq_;
  unsaved_images_ += images.size(0);
  dirty_ = true;
  return answer;
}

// The last window that it fills is left for finish().
StreamAnswer ServedStream::observe(const at::Tensor& images) {
  StreamAnswer answer;
  for (int64_t begin = 0; begin < images.size(0);) {
    if (adapter_->update_due()) learn();
    const int64_t end = std::min(images.size(0), begin + adapter_->room());
    const Observation part = adapter_->observe(images.slice(0, begin, end));
    append(part.logits, part.prediction, answer);
    answer.verdicts.insert(answer.verdicts.end(), part.verdicts.begin(),
                           part.verdicts.end());
    begin = end;
  }
  answer.updates = adapter_->updates();
  return answer;
}

void ServedStream::learn() {
  const UpdateReport report = adapter_->update();
  if (!report.guard.empty()) {
    guard_ += (guard_.empty() ? "" : ", then ") + report.guard;
    ++guard_trips_;
  }
  learnt_ = true;
  dirty_ = true;
}

bool ServedStream::has_work() const {
  return adapter_->update_due() || learnt_ ||
         unsaved_images_ >= options_.save_interval;
}

void ServedStream::finish() {
  if (adapter_->update_due()) learn();
  if (has_work()) save();
}

// Before its answer goes out.
void ServedStream::keep_on_disk(const StreamRequest& request) {
  if (!journal_) return save();
  StreamRequest numbered = request;
  numbered.seq = next_seq_ - 1;
  try {
    journal_->append(numbered);
    durable_seq_ = next_seq_;
  } catch (const Error& error) {
    problem_ = first_line(error);
    journal_.reset();
  }
}

void ServedStream::save(bool keep) {
  try {
    snapshot_ = folder_.save(state(), keep);
    durable_seq_ = next_seq_;
    unsaved_images_ = 0;
    learnt_ = dirty_ = false;
    journal_.reset();
    if (options_.journal) journal_ = folder_.start_journal(snapshot_);
    problem_.clear();
  } catch (const Error& error) {
    problem_ = first_line(error);
  } catch (const std::filesystem::filesystem_error& error) {
    problem_ = first_line(error);
  }
  if (!problem_.empty()) journal_.reset();
}

void ServedStream::save_change() {
  dirty_ = true;
  save();
  if (!problem_.empty())
    throw RequestError(
        HttpStatus::kUnavailable, "state",
        "done until the process ends, but not saved: " + problem_);
}

bool ServedStream::save_all() {
  finish();
  if (dirty_ || !problem_.empty()) save();
  return !dirty_;
}

void ServedStream::set_frozen(bool frozen) {
  finish();
  frozen_ = frozen;
  save_change();
}

void ServedStream::reset() {
  adapter_->reset();
  guard_.clear();
  save_change();
}

void ServedStream::roll_back(int64_t snapshot) {
  StreamState earlier;
  try {
    earlier = folder_.read(snapshot);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotFound) throw;
    throw RequestError(HttpStatus::kNotFound, "snapshot",
                       "there is none of number " + std::to_string(snapshot));
  }
  if (earlier.identity != options_.identity)
    throw RequestError(HttpStatus::kConflict, "snapshot",
                       "it belongs to another model, method or options");
  adapter_->restore(earlier.adapter);
  guard_.clear();
  save_change();
}

int64_t ServedStream::keep_snapshot() {
  finish();
  dirty_ = true;
  save(/*keep=*/true);
  if (!problem_.empty())
    throw RequestError(HttpStatus::kUnavailable, "state",
                       "not saved: " + problem_);
  return snapshot_;
}

void ServedStream::replace_state(const StreamState& state) {
  restore(state);
  save_change();
}

std::string ServedStream::why_frozen() const {
  if (!problem_.empty()) return problem_;
  return frozen_ ? "by request" : "";
}

StreamStatus ServedStream::status() const {
  StreamStatus status;
  status.next_seq = next_seq_;
  status.durable_seq = durable_seq_;
  status.images = adapter_->samples();
  status.updates = adapter_->updates();
  status.pending = adapter_->pending();
  status.guard_trips = guard_trips_;
  status.snapshot = snapshot_;
  status.frozen = why_frozen();
  status.problem = problem_;
  status.notice = notice_;
  return status;
}

StreamState ServedStream::state() const {
  StreamState state;
  state.identity = options_.identity;
  state.adapter = adapter_->snapshot();
  state.next_seq = next_seq_;
  state.frozen = frozen_;
  state.guard = guard_;
  state.guard_trips = guard_trips_;
  state.answers = answers_;
  return state;
}

TensorFile ServedStream::norm() const {
  TensorFile file;
  for (const auto& [name, tensor] :
       named_norm_tensors(adapter_->state(), adapter_->model().norm_layers()))
    file.tensors[name] = to_array(tensor);
  return file;
}

}  // namespace sotta
