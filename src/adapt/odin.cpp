#include "sotta/adapt/odin.h"

#include <algorithm>
#include <map>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"
#include "sotta/nn/gradient.h"

#include "core/checks.h"
#include "nn/pixels.h"

namespace sotta {
namespace {

// Rows of a part of a window: those the method sees and those it does not.
struct Sorted {
  std::vector<int64_t> kept;
  std::vector<int64_t> flagged;
};

// The method counts the samples it is shown, the stream all that come. Knows
// the place in the stream of those the method still holds.
class Places {
 public:
  // The rows of the next `count` samples of the stream that the method is shown
  // next.
  void add(const std::vector<int64_t>& rows, int64_t count) {
    for (const int64_t row : rows)
      place_of_[shown_++] = seen_ + row;
    seen_ += count;
  }

  void keep_only(const std::vector<int64_t>& held) {
    std::map<int64_t, int64_t> kept;
    for (const int64_t number : held)
      if (const auto found = place_of_.find(number); found != place_of_.end())
        kept.insert(*found);
    place_of_ = std::move(kept);
  }

  std::vector<int64_t> all() const {
    std::vector<int64_t> places;
    for (const auto& entry : place_of_)
      places.push_back(entry.second);
    return places;
  }

  void go_on_at(int64_t next) { seen_ = shown_ = next; }

  void exchange(StateArchive& archive) {
    archive("odin.seen", seen_);
    archive("odin.shown", shown_);
    archive("odin.places",
            {[this] { return packed(); },
             [](const at::Tensor& stored) {
               if (stored.numel() % 2 != 0)
                 fail(ErrorKind::kBadFormat, "snapshot",
                      "expected pairs in \"odin.places\"");
             },
             [this](const at::Tensor& stored) { unpack(stored); }});
  }

 private:
  at::Tensor packed() const {
    std::vector<int64_t> words;
    for (const auto& [number, place] : place_of_)
      words.insert(words.end(), {number, place});
    return at::tensor(words, at::kLong);
  }

  void unpack(const at::Tensor& stored) {
    place_of_.clear();
    const auto* word = stored.data_ptr<int64_t>();
    for (int64_t i = 0; i < stored.numel(); i += 2)
      place_of_[word[i]] = word[i + 1];
  }

  int64_t seen_ = 0;
  int64_t shown_ = 0;
  std::map<int64_t, int64_t> place_of_;
};

class OdinScreen : public Method {
 public:
  OdinScreen(const MethodContext& context, const OdinOptions& options,
             std::unique_ptr<Method> method)
      : options_(options),
        executor_(executor_of(context)),
        method_(std::move(method)) {}

  // Flagged or not, the method predicts; window-statistics methods see the
  // images of one call together.
  at::Tensor predict(const at::Tensor& images) const override {
    return join(images, sort(images), [this](const at::Tensor& kept) {
      return method_->predict(kept);
    });
  }

  Observation observe(const at::Tensor& images,
                      bool completes_window) override {
    const Sorted rows = sort(images);
    Observation inner;
    Observation seen;
    seen.logits = join(images, rows, [&](const at::Tensor& kept) {
      inner = method_->observe(kept, completes_window);
      return inner.logits;
    });
    seen.prediction = classify(seen.logits);
    seen.verdicts.assign(static_cast<size_t>(images.size(0)),
                         Verdict::kForeign);
    for (size_t i = 0; i < rows.kept.size(); ++i)
      seen.verdicts[static_cast<size_t>(rows.kept[i])] = inner.verdicts[i];
    remember(seen.verdicts);
    places_.add(rows.kept, images.size(0));
    places_.keep_only(method_->memory_samples());
    return seen;
  }

  UpdateReport update() override {
    UpdateReport report = method_->update();
    places_.keep_only(method_->memory_samples());  // it may have cleared some
    const std::vector<bool> flagged = std::exchange(flagged_, {});
    if (report.verdicts.empty()) return report;
    // The method judged the samples it saw; the others lie between them.
    const auto judged = std::exchange(report.verdicts, {});
    auto next = judged.begin();
    for (const bool foreign : flagged)
      report.verdicts.push_back(foreign ? Verdict::kForeign : *next++);
    return report;
  }

  void drop_window(int64_t next) override {
    flagged_.clear();
    places_.go_on_at(next);
    method_->drop_window(next);
  }

  std::vector<int64_t> memory_samples() const override { return places_.all(); }
  at::Tensor memory_images() const override { return method_->memory_images(); }

  void exchange(StateArchive& archive) override {
    method_->exchange(archive);
    archive("odin.flagged",
            {[&] {
               return at::tensor(
                   std::vector<int64_t>(flagged_.begin(), flagged_.end()),
                   at::kLong);
             },
             [&](const at::Tensor& stored) { check_flags(stored, archive); },
             [this](const at::Tensor& stored) {
               const auto* begin = stored.data_ptr<int64_t>();
               flagged_.assign(begin, begin + stored.numel());
             }});
    places_.exchange(archive);
  }

  ModelState state() const override { return method_->state(); }
  ModelState trained_state() const override { return method_->trained_state(); }
  NormStats prediction_stats() const override {
    return method_->prediction_stats();
  }
  double statistics_share() const override {
    return method_->statistics_share();
  }

 private:
  Sorted sort(const at::Tensor& images) const {
    const at::Tensor familiar =
        odin_scores(*executor_, images, options_).ge(options_.threshold).cpu();
    Sorted rows;
    const auto* is_familiar = familiar.data_ptr<bool>();
    for (int64_t i = 0; i < familiar.numel(); ++i)
      (is_familiar[i] ? rows.kept : rows.flagged).push_back(i);
    return rows;
  }

  // Logits of all images: the flagged ones predicted on their own, the others
  // by `look`.
  template <class Look>
  at::Tensor join(const at::Tensor& images, const Sorted& rows,
                  const Look& look) const {
    const Classifier& model = executor_->model();
    at::Tensor whole = at::empty({images.size(0), model.classes()},
                                 model.source().affine.options());
    const auto fill = [&](const std::vector<int64_t>& some,
                          const auto& logits) {
      if (some.empty()) return;
      const at::Tensor index =
          executor_->to_device(at::tensor(some, at::kLong));
      whole.index_copy_(0, index, logits(images.index_select(0, index)));
    };
    fill(rows.flagged,
         [this](const at::Tensor& part) { return method_->predict(part); });
    fill(rows.kept, look);
    return whole;
  }

  void remember(const std::vector<Verdict>& verdicts) {
    for (const Verdict verdict : verdicts)
      flagged_.push_back(verdict != Verdict::kPending);
  }

  // One flag per sample of the window, and as many not set as images wait.
  void check_flags(const at::Tensor& stored,
                   const StateArchive& archive) const {
    const auto pending = archive.stored("adapter.pending").item<int64_t>();
    const at::Tensor waiting = archive.stored("waiting");
    const int64_t expected = waiting.defined() ? waiting.size(0) : 0;
    const auto* flag = stored.data_ptr<int64_t>();
    const auto zeros = std::count(flag, flag + stored.numel(), 0);
    const auto ones = std::count(flag, flag + stored.numel(), 1);
    if (stored.numel() != pending || zeros + ones != pending ||
        zeros != expected)
      fail(ErrorKind::kBadFormat, "snapshot",
           "expected \"odin.flagged\" for " + std::to_string(pending) +
               " samples of which " + std::to_string(expected) +
               " wait, got others");
  }

  OdinOptions options_;
  std::shared_ptr<const Executor> executor_;
  std::unique_ptr<Method> method_;
  // Of the window that is filling: whose verdict is not for the update to give.
  std::vector<bool> flagged_;
  Places places_;
};

}  // namespace

void validate(const OdinOptions& options) {
  require_positive("odin_temperature", options.temperature);
  require_not_negative("odin_step", options.step);
  require_within("odin_threshold", options.threshold, 0, 1);
}

at::Tensor odin_scores(const Executor& executor, const at::Tensor& images,
                       const OdinOptions& options) {
  const auto tempered = [&](const at::Tensor& pixels) {
    return executor
        .forward(pixels, executor.model().source(), NormStats::running())
        .logits.div(options.temperature);
  };
  const at::Tensor pixels = as_floats(images);
  at::Tensor direction;
  {
    const at::AutoGradMode with_gradients(true);
    const at::Tensor leaf = as_leaf(pixels);
    direction =
        executor.gradient(tempered(leaf).log_softmax(1).amax(1).sum(), leaf)
            .sign_();
  }
  const at::NoGradGuard no_gradients;
  return tempered(pixels.add(direction, options.step)).softmax(1).amax(1);
}

std::unique_ptr<Method> make_odin_screen(const MethodContext& context,
                                         const OdinOptions& options,
                                         std::unique_ptr<Method> method) {
  validate(options);
  return std::make_unique<OdinScreen>(context, options, std::move(method));
}

}  // namespace sotta
