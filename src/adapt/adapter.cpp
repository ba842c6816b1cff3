#include "sotta/adapt/adapter.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/aminmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include "sotta/core/checks.h"
#include "sotta/core/error.h"
#include "sotta/core/stopwatch.h"
#include "sotta/nn/device_work.h"

#include "adapt/adapter_guard.h"

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
}

// What is no number is said to be none, whatever the method made of it.
void mark_not_finite(Observation& part) {
  for (size_t i = 0; i < part.verdicts.size(); ++i)
    if (!is_finite(part.prediction, static_cast<int64_t>(i)))
      part.verdicts[i] = Verdict::kNotFinite;
}

// A method that decides in its update decides on the whole window; the call may
// have brought only the window's last samples.
void overwrite_tail(std::vector<Verdict>& verdicts,
                    const std::vector<Verdict>& window) {
  const size_t count = std::min(verdicts.size(), window.size());
  std::copy(window.end() - static_cast<std::ptrdiff_t>(count), window.end(),
            verdicts.end() - static_cast<std::ptrdiff_t>(count));
}

[[noreturn]] void refuse(const std::string& problem) {
  fail(ErrorKind::kInvalid, "images", problem);
}

}  // namespace

Adapter::Adapter(std::string name, std::unique_ptr<Method> method,
                 const MethodContext& context, const GuardOptions& guard)
    : name_(std::move(name)),
      method_(std::move(method)),
      model_(context.model),
      update_interval_(context.update_interval) {
  require_at_least("update_interval", update_interval_, 1);
  validate(guard);
  if (guard.action != "off")
    guard_ = std::make_unique<Guard>(guard, model_->classes());
  const DeviceWork at_work(device());
  initial_ = snapshot();
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
  height_ = images.size(2);
  width_ = images.size(3);
  StepResult result;
  for (int64_t begin = 0; begin < images.size(0);) {
    const int64_t room = update_interval_ - pending_;
    const int64_t end = std::min(images.size(0), begin + room);
    const bool completes = end - begin == room;
    Observation part = method_->observe(images.slice(0, begin, end), completes);
    mark_not_finite(part);
    if (guard_) guard_->observe(part);
    append(result, std::move(part));
    pending_ += end - begin;
    samples_ += end - begin;
    begin = end;
    if (!completes) continue;
    const Stopwatch watch;
    result.updates.push_back(update_window(result));
    result.update_seconds += watch.seconds();
  }
  return result;
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

UpdateReport Adapter::update_window(StepResult& result) {
  Snapshot before;
  if (guard_) before = snapshot();
  pending_ = 0;

  UpdateReport report = method_->update();
  overwrite_tail(result.verdicts, report.verdicts);
  if (report.applied) ++updates_;
  if (!guard_) return report;

  const std::string reason = guard_->find_trouble(report);
  if (reason.empty()) {
    if (guard_->due_for_snapshot()) guard_->set_good(snapshot());
    return report;
  }
  const int64_t seen = samples_;
  const std::string action = guard_->options().action;
  load(action == "skip"       ? before
       : action == "rollback" ? guard_->good()
                              : initial_,
       update_interval_);
  method_->drop_window(seen);
  samples_ = seen;
  pending_ = 0;
  guard_->forget();
  report.applied = false;
  report.skipped = "guard: " + reason;
  // Verdicts on earlier windows of the same call stand.
  const auto own =
      std::min(result.verdicts.size(), static_cast<size_t>(update_interval_));
  std::replace(result.verdicts.end() - static_cast<std::ptrdiff_t>(own),
               result.verdicts.end(), Verdict::kAdmitted, Verdict::kGuard);
  result.guard +=
      (result.guard.empty() ? "" : ", then ") + reason + "; " + action;
  return report;
}

Prediction Adapter::predict(const at::Tensor& images) const {
  const DeviceWork at_work(device());
  check(images);
  check_range(images);
  return classify(method_->predict(images));
}

Snapshot Adapter::snapshot() const {
  const DeviceWork at_work(device());
  Snapshot snapshot;
  snapshot.method = name_;
  auto archive = StateArchive::into(snapshot);
  // The archive only reads when it saves.
  auto& self = const_cast<Adapter&>(*this);
  archive("adapter.pending", self.pending_);
  archive("adapter.samples", self.samples_);
  archive("adapter.updates", self.updates_);
  self.method_->exchange(archive);
  return snapshot;
}

void Adapter::restore(const Snapshot& snapshot) {
  load(snapshot, update_interval_ - 1);
  if (!guard_) return;
  guard_->forget();
  guard_->set_good(this->snapshot());
}

void Adapter::take_back(const Snapshot& before, bool keep_survivors) {
  load(before, update_interval_ - 1, keep_survivors);
}

bool Adapter::keeps_state() const {
  const DeviceWork at_work(device());
  Snapshot own;
  auto archive = StateArchive::into(own);
  method_->exchange(archive);
  return !own.tensors.empty();
}

// A full window, which update_window() saves, is no state to go on from.
void Adapter::load(const Snapshot& snapshot, int64_t most_pending,
                   bool keep_survivors) {
  const DeviceWork at_work(device());
  if (snapshot.method != name_)
    fail(ErrorKind::kBadFormat, "snapshot",
         "belongs to method \"" + snapshot.method + "\", expected \"" + name_ +
             "\"");
  auto archive = StateArchive::from(snapshot);
  if (keep_survivors) archive.keep_survivors();
  archive("adapter.pending", pending_);
  archive("adapter.samples", samples_);
  archive("adapter.updates", updates_);
  const auto pending = archive.stored("adapter.pending").item<int64_t>();
  if (pending < 0 || pending > most_pending)
    fail(ErrorKind::kBadFormat, "snapshot",
         "expected 0 to " + std::to_string(most_pending) +
             " samples of a window of " + std::to_string(update_interval_) +
             ", got " + std::to_string(pending));
  method_->exchange(archive);
  const auto shape = archive.image_shape();
  if (!shape.empty() && shape[0] != model_->channels())
    fail(ErrorKind::kBadFormat, "snapshot",
         "expected images of " + std::to_string(model_->channels()) +
             " channels, got " + std::to_string(shape[0]));
  archive.commit();
  height_ = shape.empty() ? 0 : shape[1];
  width_ = shape.empty() ? 0 : shape[2];
}

void Adapter::reset() {
  restore(initial_);
}

void Adapter::check(const at::Tensor& images) const {
  const auto type = images.scalar_type();
  if (type != at::kByte && type != at::kFloat)
    refuse(std::string("expected uint8 or float, got ") + c10::toString(type));
  if (images.dim() != 4 || images.size(1) != model_->channels() ||
      images.numel() == 0)
    refuse("expected a shape [N, " + std::to_string(model_->channels()) +
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
  // A comparison with NaN is false; aminmax() passes NaN on.
  if (!(lowest >= 0 && highest <= 1))
    refuse("expected floats within 0 .. 1, got " + std::to_string(lowest) +
           " .. " + std::to_string(highest));
}

}  // namespace sotta
