#include "live_board.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <unistd.h>

namespace sotta::cli {
namespace {

constexpr int kBarWidth = 40;
constexpr auto kRedrawInterval = std::chrono::milliseconds(50);

std::string bar(double share) {
  const int filled = static_cast<int>(share * kBarWidth + 0.5);
  std::string text;
  for (int i = 0; i < kBarWidth; ++i)
    text += i < filled ? "█" : "░";
  return text;
}

}  // namespace

LiveBoard::LiveBoard(std::vector<std::string> names)
    : terminal_(isatty(STDERR_FILENO) == 1) {
  for (auto& name : names) {
    name_width_ = std::max(name_width_, name.size());
    jobs_.push_back({std::move(name), 0, "", 0});
  }
}

void LiveBoard::update(size_t job, double share, const std::string& note) {
  const std::lock_guard<std::mutex> lock(mutex_);
  jobs_[job].share = std::clamp(share, 0.0, 1.0);
  jobs_[job].note = note;
  if (!terminal_) return tell(jobs_[job]);
  const auto now = std::chrono::steady_clock::now();
  const bool all_done =
      std::all_of(jobs_.begin(), jobs_.end(),
                  [](const Job& one) { return one.share >= 1; });
  if (drawn_ && !all_done && now - last_drawn_ < kRedrawInterval) return;
  last_drawn_ = now;
  redraw();
}

void LiveBoard::redraw() {
  if (drawn_)
    std::fprintf(stderr, "\x1b[%zuA", jobs_.size());  // up to the first line
  for (const Job& job : jobs_)
    std::fprintf(stderr, "\r\x1b[2K  %-*s %s %3.0f %%  %s\n",
                 static_cast<int>(name_width_), job.name.c_str(),
                 bar(job.share).c_str(), 100 * job.share, job.note.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void LiveBoard::tell(Job& job) {
  const int quarters = static_cast<int>(job.share * 4);
  if (quarters <= job.quarters_told) return;
  job.quarters_told = quarters;
  std::fprintf(stderr, "  %-*s %3d %%  %s\n", static_cast<int>(name_width_),
               job.name.c_str(), 25 * quarters, job.note.c_str());
}

}  // namespace sotta::cli
