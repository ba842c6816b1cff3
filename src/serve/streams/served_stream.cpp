#include "serve/streams/served_stream.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "core/stopwatch.h"
#include "data/tensor.h"
#include "serve/request_error.h"
#include "serve/streams/without_folder.h"

namespace sotta {
namespace {

at::Device device_of(const Adapter& adapter) {
  return adapter.model().source().affine.device();
}

}  // namespace

ServedStream::ServedStream(std::unique_ptr<Adapter> adapter,
                           std::unique_ptr<StreamStorage> storage,
                           ServedStreamOptions options)
    : adapter_(std::move(adapter)),
      storage_(std::move(storage)),
      options_(std::move(options)),
      watch_(options_.watch) {
  const auto loaded = storage_->load();
  if (!loaded) return;
  restore(loaded->state);
  snapshot_ = loaded->number;
  durable_seq_ = loaded->durable_seq.value_or(next_seq_);
  for (const std::string& problem : loaded->damaged)
    say(problem + "; went on from snapshot " + std::to_string(loaded->number));
  if (durable_seq_ < next_seq_) {  // replicas may lack the snapshot
    dirty_ = true;
    save();
  }
  const auto since = storage_->requests_since(loaded->number);
  watch_.mute(true);
  repeat(since.requests);
  watch_.mute(false);
  watch_.measure(*adapter_);
  if (!dirty_)  // else what is whole of a journal is nowhere else
    for (const int64_t journal : since.damaged)
      say(storage_->set_journal_aside(journal) + "; went on from request " +
          std::to_string(next_seq_));
  if (options_.journal && !journal_) save();  // removes journals before it
}

void ServedStream::say(const std::string& problem) {
  notice_ += (notice_.empty() ? "" : "; ") + without_folder(problem);
  log(LogLevel::kWarning, problem);
}

// Empty: there is none any more.
void ServedStream::set_problem(const std::string& problem) {
  if (without_folder(problem) == problem_) return;
  problem_ = without_folder(problem);
  watch_.tell(StreamEvent::Kind::kStorage, problem_);
  if (!problem.empty()) log(LogLevel::kWarning, problem);
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
  skipped_ = state.skipped;
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

InferResult ServedStream::infer(const StreamRequest& request,
                                const Begin& begin) {
  finish();
  if (begin) begin();
  if (request.seq && *request.seq < next_seq_)
    return stored_reply(*request.seq);
  if (!problem_.empty()) {  // answered, not counted
    check_size(request);
    StreamAnswer answer = predict(request.images);
    watch_.answered(answer);
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
  StreamAnswer answer = take(request);
  if (options_.journal) keep_on_disk(request);
  return reply(std::move(answer));
}

InferResult ServedStream::reply(StreamAnswer answer) const {
  return {std::move(answer), next_seq_, durable_seq_, why_frozen(), skipped_};
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

// Restores what there was before `work` if that throws: memory may run out in
// the second window of a request, or in the middle of an update.
template <class Work>
auto ServedStream::all_or_nothing(const Work& work) {
  const Snapshot before = adapter_->snapshot();
  const std::string guard = guard_;
  const int64_t guard_trips = guard_trips_;
  try {
    return work();
  } catch (...) {
    adapter_->restore(before);
    guard_ = guard;
    guard_trips_ = guard_trips;
    throw;
  }
}

// Processes the next request. Nothing has changed if it throws.
StreamAnswer ServedStream::take(const StreamRequest& request) {
  const at::Tensor& images = request.images;
  const bool learns = request.adapt && !frozen_;
  const auto compute = [&] {
    if (request.reset) adapter_->reset();
    StreamAnswer answer =
        learns ? observe(images.to(device_of(*adapter_))) : predict(images);
    answer.seq = next_seq_;
    answer.guard = guard_;
    answers_.add(answer);
    return answer;
  };
  // Adapter::observe() of one window's images is all or nothing by itself.
  const bool one_step =
      !request.reset &&
      (!learns || (images.size(0) <= adapter_->room() && !options_.has_floor));
  StreamAnswer answer = one_step ? compute() : all_or_nothing(compute);
  if (request.reset) watch_.tell_jump(*adapter_, StreamEvent::Kind::kReset);
  if (!learns) watch_.answered(answer);
  guard_.clear();
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
    const at::Tensor images_of_part = images.slice(0, begin, end);
    const Observation part = observe_part(images_of_part);
    append_answer(part.logits, part.prediction, answer);
    watch_.observed(answer, images_of_part, adapter_->update_due(),
                    part.screening);
    answer.verdicts.insert(answer.verdicts.end(), part.verdicts.begin(),
                           part.verdicts.end());
    begin = end;
  }
  answer.updates = adapter_->updates();
  return answer;
}

// What the network says of images of the host; learns nothing.
StreamAnswer ServedStream::predict(const at::Tensor& images) const {
  if (options_.batch)
    if (const auto batched = options_.batch->predict(*adapter_, images))
      return not_screened(batched->logits, batched->prediction,
                          adapter_->updates());
  return answer_with(*adapter_, images);
}

Observation ServedStream::observe_part(const at::Tensor& images) {
  Observation seen;
  const auto pass = [&] { seen = adapter_->observe(images); };
  options_.batch ? options_.batch->observe(*adapter_, images, pass) : pass();
  return seen;
}

UpdateReport ServedStream::update() {
  UpdateReport report;
  const auto step = [&] { report = adapter_->update(); };
  options_.batch ? options_.batch->update(step) : step();
  return report;
}

bool ServedStream::follow(const AnsweredRequest& ahead) {
  if (*ahead.request.seq != next_seq_) return false;
  if (ahead.latency) watch_.add_latency(*ahead.latency);
  const at::Tensor images = ahead.request.images.to(device_of(*adapter_));
  if (ahead.skipped)
    skipped_ += images.size(0);
  else if (ahead.request.adapt && !frozen_)
    all_or_nothing([&] { return observe(images); });
  answers_.add(ahead.answer);
  ++next_seq_;
  unsaved_images_ += images.size(0);
  dirty_ = true;
  return true;
}

void ServedStream::learn() {
  const Stopwatch stopwatch;
  const UpdateReport report = all_or_nothing([&] { return update(); });
  if (!report.guard.empty()) {
    guard_ += (guard_.empty() ? "" : ", then ") + report.guard;
    ++guard_trips_;
  }
  learnt_ = true;
  dirty_ = true;
  watch_.learnt(*adapter_, report, stopwatch.seconds());
}

bool ServedStream::has_work() const {
  return adapter_->update_due() || learnt_ ||
         unsaved_images_ >= options_.save_interval;
}

void ServedStream::finish() {
  if (adapter_->update_due()) {
    try {
      learn();
    } catch (const std::exception& error) {
      return set_problem("an update failed: " + first_line(error));
    }
  }
  if (has_work() || !problem_.empty()) save();
}

// Before its answer goes out.
void ServedStream::keep_on_disk(const StreamRequest& request) {
  if (!journal_) return save();
  StreamRequest numbered = request;
  numbered.seq = next_seq_ - 1;
  try {
    journal_->append(numbered);
    durable_seq_ = next_seq_;
  } catch (const StreamElsewhere&) {  // nothing of it counts here
    throw;
  } catch (const std::exception& error) {  // the disk, or memory for it
    set_problem(first_line(error));
    journal_.reset();
  }
}

void ServedStream::save(bool keep) {
  std::string problem;
  try {
    snapshot_ = storage_->save(state(), keep);
    durable_seq_ = next_seq_;
    unsaved_images_ = 0;
    learnt_ = dirty_ = false;
    journal_.reset();
    if (options_.journal) journal_ = storage_->start_journal(snapshot_);
  } catch (const StreamElsewhere&) {  // nothing of it counts here
    throw;
  } catch (const std::filesystem::filesystem_error& error) {
    problem = error.path1().string() + ": " + error.code().message();
  } catch (const std::exception& error) {
    problem = first_line(error);
  }
  if (!problem.empty()) journal_.reset();
  set_problem(problem);
}

// Before it is left.
void ServedStream::retain_present() {
  if (dirty_) save();
  if (snapshot_ > 0 && !dirty_) storage_->retain(snapshot_);
}

void ServedStream::save_change() {
  dirty_ = true;
  save();
  if (problem_.empty()) return;
  const bool is_nothing = snapshot_ == 0 && next_seq_ == 0;
  throw RequestError(
      HttpStatus::kUnavailable, "state",
      (is_nothing ? "not done, as it cannot be saved: "
                  : "done until the process ends, but not saved: ") +
          problem_);
}

bool ServedStream::save_all() {
  finish();
  if (dirty_ || !problem_.empty()) save();
  return !dirty_;
}

void ServedStream::set_frozen(bool frozen) {
  finish();
  if (frozen != std::exchange(frozen_, frozen))
    watch_.tell(frozen ? StreamEvent::Kind::kFreeze : StreamEvent::Kind::kThaw);
  save_change();
}

void ServedStream::reset() {
  retain_present();
  adapter_->reset();
  guard_.clear();
  watch_.tell_jump(*adapter_, StreamEvent::Kind::kReset);
  save_change();
}

void ServedStream::roll_back(int64_t snapshot) {
  const StreamState earlier = storage_->read(snapshot);
  if (earlier.identity != options_.identity)
    throw RequestError(HttpStatus::kConflict, "snapshot",
                       "it belongs to another model, method or options");
  retain_present();
  adapter_->restore(earlier.adapter);
  guard_.clear();
  watch_.tell_jump(*adapter_, StreamEvent::Kind::kRollback,
                   std::to_string(snapshot));
  save_change();
}

int64_t ServedStream::keep_snapshot() {
  finish();
  dirty_ = true;
  save(/*keep=*/true);
  if (!problem_.empty())
    throw RequestError(HttpStatus::kUnavailable, "state",
                       "not saved: " + problem_);
  watch_.tell(StreamEvent::Kind::kSnapshot, std::to_string(snapshot_));
  return snapshot_;
}

void ServedStream::replace_state(const StreamState& state) {
  restore(state);
  watch_.tell_jump(*adapter_, StreamEvent::Kind::kReplace);
  save_change();
}

std::string ServedStream::why_frozen() const {
  if (!problem_.empty()) return problem_;
  return frozen_ ? kFrozenByRequest : "";
}

StreamStatus ServedStream::status() const {
  StreamStatus status;
  status.next_seq = next_seq_;
  status.durable_seq = durable_seq_;
  status.images = adapter_->samples();
  status.updates = adapter_->updates();
  status.pending = adapter_->pending();
  status.guard_trips = guard_trips_;
  status.skipped = skipped_;
  status.snapshot = snapshot_;
  status.frozen = why_frozen();
  status.problem = problem_;
  status.notice = notice_;
  status.live = watch_.figures().summary();
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
  state.skipped = skipped_;
  state.answers = answers_;
  state.progress = {adapter_->samples(), adapter_->updates(),
                    adapter_->pending()};
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
