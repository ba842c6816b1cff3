#include "gpu/settings_scope.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include <ATen/Context.h>

namespace sotta {
namespace {

// Of the ways to convolve that cuDNN lists, its best guesses first.
constexpr int kTries = 4;

bool equal(const DeviceSettings& a, const DeviceSettings& b) {
  return a.precision == b.precision && a.tuned == b.tuned;
}

// What LibTorch keeps for the process.
struct ProcessSettings {
  bool rounds_convolutions, rounds_products, tries;
  int most_tries;

  static ProcessSettings now() {
    const at::Context& context = at::globalContext();
    return {context.allowTF32CuDNN(), context.allowTF32CuBLAS(),
            context.benchmarkCuDNN(), context.benchmarkLimitCuDNN()};
  }

  void apply() const {
    at::Context& context = at::globalContext();
    context.setAllowTF32CuDNN(rounds_convolutions);
    context.setAllowTF32CuBLAS(rounds_products);
    context.setBenchmarkCuDNN(tries);
    context.setBenchmarkLimitCuDNN(most_tries);
  }
};

// Threads with one kind of settings at a time; the others queue.
class Turns {
 public:
  void enter(const DeviceSettings& settings) {
    std::unique_lock lock(mutex_);
    const int64_t ticket = next_ticket_++;
    changed_.wait(lock, [&] {
      return ticket == first_waiting_ &&
             (inside_ == 0 || equal(settings, current_));
    });
    ++first_waiting_;
    if (inside_++ == 0) {
      current_ = settings;
      before_ = ProcessSettings::now();
      const bool rounds = settings.precision != Precision::kFloat32;
      ProcessSettings wanted{rounds, rounds, before_->tries,
                             before_->most_tries};
      if (settings.tuned) {
        wanted.tries = true;
        wanted.most_tries = kTries;
      }
      wanted.apply();
    }
    changed_.notify_all();
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    if (--inside_ > 0) return;
    before_->apply();
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t next_ticket_ = 0, first_waiting_ = 0;
  int64_t inside_ = 0;
  DeviceSettings current_;
  std::optional<ProcessSettings> before_;
};

Turns& turns() {
  static Turns turns;
  return turns;
}

// The settings with which this thread is inside.
thread_local const DeviceSettings* mine = nullptr;

}  // namespace

SettingsScope::SettingsScope(const DeviceSettings& settings, at::Device device)
    : settings_(settings), outer_(mine) {
  if (device.is_cpu() || (outer_ && equal(*outer_, settings_))) return;
  if (outer_) turns().leave();
  turns().enter(settings_);
  entered_ = true;
  mine = &settings_;
}

SettingsScope::~SettingsScope() {
  if (!entered_) return;
  turns().leave();
  mine = outer_;
  if (outer_) turns().enter(*outer_);
}

}  // namespace sotta
