#include "sotta/adapt/adapter.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <ATen/ops/aminmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"

#include "adapt/adapter_guard.h"
#include "adapt/stored_count.h"
#include "core/checks.h"
#include "core/stopwatch.h"
#include "gpu/device_work.h"

namespace sotta {
namespace {

// Joins what the parts of a call gave.
void append(StepResult& whole, Observation part) {
  const auto join = [](at::Tensor& front, const at::Tensor& back) {
    front = front.defined() ? at::cat({front, back}) : back;
  };
  join(whole.logits, part.logits);
  join(whole.prediction.labels, part.prediction.labels);
  join(whole.prediction.confidences, part.prediction.confidences);
  join(whole.prediction.entropies, part.prediction.entropies);
  whole.verdicts.insert(whole.verdicts.end(), part.verdicts.begin(),
                        part.verdicts.end());
  std::vector<float>& scores = whole.screening.scores;
  scores.insert(scores.end(), part.screening.scores.begin(),
                part.screening.scores.end());
  whole.screening.gate = part.screening.gate;
}

// What is no number is said to be none, whatever the method made of it.
void mark_not_finite(Observation& part) {
  for (size_t i = 0; i < part.verdicts.size(); ++i)
    if (!is_finite(part.prediction, static_cast<int64_t>(i)))
      part.verdicts[i] = Verdict::kNotFinite;
}

// Verdicts of a window for those that stood; a call may have brought only the
// window's last samples.
void overwrite_tail(std::vector<Verdict>& verdicts,
                    const std::vector<Verdict>& window) {
  const size_t count = std::min(verdicts.size(), window.size());
  std::copy(window.end() - static_cast<std::ptrdiff_t>(count), window.end(),
            verdicts.end() - static_cast<std::ptrdiff_t>(count));
}

at::Tensor pack(const std::vector<Verdict>& verdicts) {
  std::vector<int64_t> words;
  for (const Verdict verdict : verdicts)
    words.push_back(static_cast<int64_t>(verdict));
  return at::tensor(words, at::kLong);
}

std::vector<Verdict> unpack(const at::Tensor& words) {
  std::vector<Verdict> verdicts;
  const auto* word = words.data_ptr<int64_t>();
  for (int64_t i = 0; i < words.numel(); ++i)
    verdicts.push_back(static_cast<Verdict>(word[i]));
  return verdicts;
}

void check_verdicts(const at::Tensor& words, const at::Tensor& pending) {
  const auto* word = words.data_ptr<int64_t>();
  const bool known = std::all_of(word, word + words.numel(), [](int64_t code) {
    return 0 <= code && code < kVerdicts;
  });
  // One below 0 is refused as such.
  const auto count = std::max<int64_t>(pending.item<int64_t>(), 0);
  if (!known || words.numel() != count)
    fail(ErrorKind::kBadFormat, "snapshot",
         "expected \"adapter.verdicts\" on " + std::to_string(count) +
             " samples of the window, got others");
}

[[noreturn]] void refuse(const std::string& problem) {
  fail(ErrorKind::kInvalid, "images", problem);
}

}  // namespace

Adapter::Adapter(std::string name, std::unique_ptr<Method> method,
                 const MethodContext& context, const GuardOptions& guard)
    : name_(std::move(name)),
      method_(std::move(method)),
      executor_(executor_of(context)),
      update_interval_(context.update_interval) {
  require_at_least("update_interval", update_interval_, 1);
  validate(guard);
  if (guard.action != "off") guard_ = std::make_unique<Guard>(guard, context);
  const DeviceWork at_work(device());
  initial_ = save();
  if (guard_) guard_->set_good(initial_);
}

Adapter::~Adapter() = default;

StepResult Adapter::step(const at::Tensor& images) {
  const DeviceWork at_work(device());
  check(images);
  check_range(images);
  return run(images);
}

StepResult Adapter::run(const at::Tensor& images) {
  StepResult result;
  const auto learn_if_due = [&] {
    if (!update_due()) return;
    const Stopwatch watch;
    UpdateReport report = learn();
    overwrite_tail(result.verdicts, report.verdicts);
    if (!report.guard.empty())
      result.guard += (result.guard.empty() ? "" : ", then ") + report.guard;
    result.updates.push_back(std::move(report));
    result.update_seconds += watch.seconds();
  };
  learn_if_due();  // observe() may have left one
  for (int64_t begin = 0; begin < images.size(0);) {
    const int64_t end = std::min(images.size(0), begin + room());
    Observation part = take(images.slice(0, begin, end));
    if (part.by_source) result.by_source += end - begin;
    append(result, std::move(part));
    begin = end;
    learn_if_due();
  }
  return result;
}

Observation Adapter::observe(const at::Tensor& images) {
  const DeviceWork at_work(device());
  check(images);
  check_range(images);
  if (images.size(0) > room())
    refuse(update_due() ? "expected an update() first, the window is full"
                        : "expected at most " + std::to_string(room()) +
                              ", the rest of the window, got " +
                              std::to_string(images.size(0)));
  // A window's pass waits for update() with the images it was made of.
  return take(images.size(0) == room() ? images.clone() : images);
}

UpdateReport Adapter::update() {
  const DeviceWork at_work(device());
  require(update_due(), "update()",
          "expected a full window, got " + std::to_string(pending()) + " of " +
              std::to_string(update_interval_) + " samples");
  return learn();
}

// Of a window, all or a part.
Observation Adapter::take(const at::Tensor& part) {
  Observation seen = method_->observe(part, part.size(0) == room());
  mark_not_finite(seen);
  if (guard_) guard_->observe(part, seen);
  height_ = part.size(2);
  width_ = part.size(3);
  progress_.pending += part.size(0);
  progress_.samples += part.size(0);
  progress_.verdicts.insert(progress_.verdicts.end(), seen.verdicts.begin(),
                            seen.verdicts.end());
  return seen;
}

StepResult Adapter::rehearse(const at::Tensor& images) {
  struct Pause {
    std::unique_ptr<Guard>& guard;
    std::unique_ptr<Guard> kept = std::move(guard);
    ~Pause() { guard = std::move(kept); }
  };
  const DeviceWork at_work(device());
  check(images);
  const Pause pause{guard_};
  return run(images);
}

UpdateReport Adapter::learn() {
  Snapshot before;
  if (guard_ && guard_->options().action == "skip") before = save();
  // Whatever comes of the update, the window is over.
  std::vector<Verdict> verdicts = std::exchange(progress_.verdicts, {});
  progress_.pending = 0;
  UpdateReport report = method_->update();
  if (report.applied) ++progress_.updates;
  overwrite_tail(verdicts, report.verdicts);
  report.verdicts = std::move(verdicts);
  if (!guard_) return report;

  const Guard::Finding finding = guard_->judge(report);
  if (!finding.trouble.empty())
    act_on(finding.trouble, finding.action, before, report);
  else if (finding.is_good)
    guard_->set_good(save());
  report.source_answers = guard_->source_answers();
  return report;
}

void Adapter::act_on(const std::string& trouble, const std::string& action,
                     const Snapshot& before, UpdateReport& report) {
  const int64_t seen = samples(), height = height_, width = width_;
  load(action == "skip"       ? before
       : action == "rollback" ? guard_->good()
                              : initial_);
  method_->drop_window(seen);
  height_ = height;  // the stream's images keep their size, whatever is loaded
  width_ = width;
  progress_.samples = seen;
  progress_.pending = 0;
  progress_.verdicts.clear();
  guard_->start_over();
  if (guard_->source_answers()) guard_->set_good(initial_);
  report.applied = false;
  report.skipped = "guard: " + trouble;
  report.guard = trouble + "; " + action;
  std::replace(report.verdicts.begin(), report.verdicts.end(),
               Verdict::kAdmitted, Verdict::kGuard);
}

Prediction Adapter::predict(const at::Tensor& images) const {
  const DeviceWork at_work(device());
  return classify(predict_logits(images));
}

at::Tensor Adapter::predict_logits(const at::Tensor& images) const {
  const DeviceWork at_work(device());
  check(images);
  check_range(images);
  return answering().predict(images);
}

bool Adapter::source_answers() const {
  return guard_ && guard_->source_answers();
}

const Method& Adapter::answering() const {
  return source_answers() ? guard_->source() : *method_;
}

Snapshot Adapter::snapshot() const {
  Snapshot snapshot = save();
  if (guard_) add_history(guard_->history(), snapshot);
  return snapshot;
}

// All but the guards' history.
Snapshot Adapter::save() const {
  const DeviceWork at_work(device());
  Snapshot snapshot;
  snapshot.method = name_;
  auto archive = StateArchive::into(snapshot);
  Progress copy = progress_;
  copy.exchange(archive);
  method_->exchange(archive);
  return snapshot;
}

void Adapter::restore(const Snapshot& snapshot) {
  const DeviceWork at_work(device());
  const Snapshot state = without_history(snapshot);
  std::optional<GuardHistory> history;
  std::vector<int64_t> good_shape;
  if (guard_)
    history = history_of(snapshot, model().classes(), model().channels());
  if (history) {  // nothing may be in the way of rolling back later
    Progress unused;
    const auto shape = open(state, unused).image_shape();
    good_shape = open(history->good, unused).image_shape();
    if (!shape.empty() && !good_shape.empty() && shape != good_shape)
      fail(ErrorKind::kBadFormat, "snapshot",
           "expected images of one shape, got " + c10::str(shape) + " and " +
               c10::str(good_shape));
  }
  load(state);
  if (!guard_) return;
  if (height_ == 0 && !good_shape.empty()) {
    height_ = good_shape[1];
    width_ = good_shape[2];
  }
  if (history) return guard_->set_history(std::move(*history));
  guard_->forget();
  guard_->set_good(save());
}

void Adapter::take_back(const Snapshot& before, bool keep_survivors) {
  const int64_t height = height_, width = width_;
  load(without_history(before), keep_survivors);
  height_ = height;  // of images that the stream has had, whatever is loaded
  width_ = width;
}

bool Adapter::keeps_state() const {
  const DeviceWork at_work(device());
  Snapshot own;
  auto archive = StateArchive::into(own);
  method_->exchange(archive);
  return !own.tensors.empty();
}

void Adapter::load(const Snapshot& snapshot, bool keep_survivors) {
  const DeviceWork at_work(device());
  Progress loaded;
  StateArchive archive = open(snapshot, loaded, keep_survivors);
  method_->drop_window(samples());
  archive.commit();
  loaded.verdicts.resize(static_cast<size_t>(loaded.pending),
                         Verdict::kPending);
  progress_ = std::move(loaded);
  const auto& shape = archive.image_shape();
  height_ = shape.empty() ? 0 : shape[1];
  width_ = shape.empty() ? 0 : shape[2];
}

// An archive that can be committed, to the method and to `progress`.
StateArchive Adapter::open(const Snapshot& snapshot, Progress& progress,
                           bool keep_survivors) const {
  const auto refuse = [](const std::string& problem) {
    fail(ErrorKind::kBadFormat, "snapshot", problem);
  };
  if (snapshot.method != name_)
    refuse("belongs to method \"" + snapshot.method + "\", expected \"" +
           name_ + "\"");
  auto archive = StateArchive::from(snapshot);
  if (keep_survivors) archive.keep_survivors();
  progress.exchange(archive);
  // Versions that kept no verdicts kept no full window either.
  const bool with_verdicts = archive.stored("adapter.verdicts").defined();
  const int64_t most = update_interval_ - (with_verdicts ? 0 : 1);
  const auto pending = archive.stored("adapter.pending").item<int64_t>();
  if (pending < 0 || pending > most)
    refuse("expected 0 to " + std::to_string(most) +
           " samples of a window of " + std::to_string(update_interval_) +
           ", got " + std::to_string(pending));
  for (const char* count : {"adapter.samples", "adapter.updates"})
    check_stored_count(archive, count);
  method_->exchange(archive);
  const auto& shape = archive.image_shape();
  if (!shape.empty() && shape[0] != model().channels())
    refuse("expected images of " + std::to_string(model().channels()) +
           " channels, got " + std::to_string(shape[0]));
  archive.check_all_asked_for();
  return archive;
}

void Adapter::Progress::exchange(StateArchive& archive) {
  archive("adapter.pending", pending);
  archive("adapter.samples", samples);
  archive("adapter.updates", updates);
  if (!archive.saving() && !archive.stored("adapter.verdicts").defined())
    return;  // of a version that kept none
  archive("adapter.verdicts",
          {[this] { return pack(verdicts); },
           [&](const at::Tensor& stored) {
             check_verdicts(stored, archive.stored("adapter.pending"));
           },
           [this](const at::Tensor& stored) { verdicts = unpack(stored); }});
}

void Adapter::reset() {
  restore(initial_);
}

void Adapter::check(const at::Tensor& images) const {
  const auto type = images.scalar_type();
  if (type != at::kByte && type != at::kFloat)
    refuse(std::string("expected uint8 or float, got ") + c10::toString(type));
  if (images.layout() != at::kStrided)
    refuse(
        c10::str("expected a dense tensor, got one that is ", images.layout()));
  if (images.dim() != 4 || images.size(1) != model().channels() ||
      images.numel() == 0)
    refuse("expected a shape [N, " + std::to_string(model().channels()) +
           ", H, W] without zeros, got " + c10::str(images.sizes()));
  if (height_ > 0 && (images.size(2) != height_ || images.size(3) != width_))
    refuse("expected " + std::to_string(height_) + " x " +
           std::to_string(width_) + " pixels as before, got " +
           std::to_string(images.size(2)) + " x " +
           std::to_string(images.size(3)));
  if (images.device() != device())
    refuse("expected them on " + device().str() + ", got " +
           images.device().str());
}

// Waits for the device, if the images are not bytes.
void Adapter::check_range(const at::Tensor& images) const {
  if (images.scalar_type() == at::kByte) return;
  const auto [smallest, largest] = at::aminmax(images);
  const at::Tensor range = at::stack({smallest, largest}).cpu();
  const float lowest = range.data_ptr<float>()[0];
  const float highest = range.data_ptr<float>()[1];
  if (std::isnan(lowest) || std::isnan(highest))  // aminmax() passes NaN on
    refuse("expected floats within 0 .. 1, got some that are no numbers");
  if (lowest < 0 || highest > 1)
    refuse("expected floats within 0 .. 1, got " + std::to_string(lowest) +
           " .. " + std::to_string(highest));
}

}  // namespace sotta
