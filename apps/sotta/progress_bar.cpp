#include "progress_bar.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include <unistd.h>

namespace sotta::cli {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

void on_interrupt(int) {
  interrupt_seen = 1;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600,
                  whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

// In a unit that leaves digits before the point.
std::string rate_text(double per_second) {
  char text[32];
  if (per_second >= 1)
    std::snprintf(text, sizeof text, "%.0f/s", per_second);
  else if (per_second * 60 >= 1)
    std::snprintf(text, sizeof text, "%.1f/min", per_second * 60);
  else
    std::snprintf(text, sizeof text, "%.1f/h", per_second * 3600);
  return text;
}

// Around a line that is drawn again and again: one that is wider than the
// terminal must not wrap, or "\r" would leave all but its last row behind.
constexpr const char* kBeginLine = "\r\x1b[?7l";
constexpr const char* kEndLine = "\x1b[K\x1b[?7h";

std::string bar_text(double share) {
  constexpr int kWidth = 24;
  const int filled = static_cast<int>(share * kWidth);
  return "[" + std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(kWidth - filled), '.') + "]";
}

}  // namespace

std::string progress_line(const Progress& progress, double begun,
                          int64_t already, double seconds,
                          const std::string& unit) {
  const double done = static_cast<double>(progress.done) + begun;
  const double rate =
      seconds > 0 ? (done - static_cast<double>(already)) / seconds : 0;
  const double left =
      rate > 0 ? (static_cast<double>(progress.total) - done) / rate : 0;
  const double share = std::min(
      1.0, done / static_cast<double>(std::max<int64_t>(1, progress.total)));
  return bar_text(share) + " " + std::to_string(progress.done) + "/" +
         std::to_string(progress.total) + " " + unit + ", " + rate_text(rate) +
         ", " + duration_text(left) + " left, " + progress.note;
}

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESETHAND;  // without SA_RESTART: it also ends a wait
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);  // how job systems ask
}

bool interrupted() {
  return interrupt_seen != 0;
}

ProgressBar::ProgressBar(std::string unit, int64_t already)
    : unit_(std::move(unit)),
      already_(already),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_shown_(start_) {}

void ProgressBar::finish() {
  if (line_open_) std::fputc('\n', stderr);
  line_open_ = false;
}

void ProgressBar::show(const Progress& progress, double begun) {
  const auto now = Clock::now();
  const bool last = progress.done >= progress.total;
  const auto interval = std::chrono::milliseconds(terminal_ ? 100 : 10000);
  if (!last && now - last_shown_ < interval) return;
  last_shown_ = now;

  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "%s%s%s", terminal_ ? kBeginLine : "",
               progress_line(progress, begun, already_, seconds, unit_).c_str(),
               terminal_ ? kEndLine : "\n");
  std::fflush(stderr);
  line_open_ = terminal_;
}

}  // namespace sotta::cli
