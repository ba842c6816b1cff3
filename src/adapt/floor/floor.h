#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sotta/adapt/guard.h"
#include "sotta/adapt/method.h"

#include "adapt/floor/answer_comparison.h"

namespace sotta {

// What a floor remembers of the stream.
struct FloorState {
  AnswerComparison answers;     // of the adapted and the source model
  bool source_answers = false;  // the source model's predictions are given
  bool broken = false;     // the adapted one's were no numbers, this window
  int64_t since_look = 0;  // full windows since the last look; 0: look now
  int64_t worse_for = 0;   // windows that the adapted one was worse
  double best = 0;         // advantage of the state to roll back to
};

// Keeps an adapted network from being worse than the source model, as far as
// that can be known without labels: compares what the two say of the same
// images (AnswerComparison) and has the source model answer while it knows
// more. The method goes on learning meanwhile, and answers again when it is
// ahead.
//
//   the adapted network answers -- not ahead: its state goes back --> the
//   source model answers -- the adapted network is clearly ahead --> ...
//
// Looks at every `look_every`th window, at every one while the source model
// answers. A look costs a forward pass of the source model.
class Floor {
 public:
  Floor(const MethodContext& context, const GuardOptions& options);

  // Of a part of a window, which the adapted network has predicted. Compares,
  // and puts the source model's prediction in place if that one answers.
  void watch(const at::Tensor& images, Observation& seen);

  // What is to be done at a window's end. `trouble` says why the method's
  // state has to go back; to the good state if that was better by `best`.
  struct Ruling {
    std::string trouble;
    bool to_good = false;  // else to the source model
    bool is_good = false;  // the state now is the one to roll back to later
  };
  Ruling rule(bool due_for_snapshot);

  // The method was put back: what the adapted network said counts no more.
  void put_back();
  void forget() { state_ = {}; }

  bool source_answers() const { return state_.source_answers; }
  at::Tensor predict(const at::Tensor& images) const {
    return source_->predict(images);
  }
  const Method& source() const { return *source_; }

  const FloorState& state() const { return state_; }
  void set_state(FloorState state) { state_ = std::move(state); }

 private:
  bool looks() const { return state_.source_answers || state_.since_look == 0; }
  double doubt_about(int64_t images) const;

  std::shared_ptr<const Executor> executor_;
  GuardOptions options_;
  std::unique_ptr<Method> source_;
  FloorState state_;
};

// As tensors named `prefix`…, and back. Reading throws Error(kBadFormat) for
// what could not have come about, and gives none if there is none.
bool is_of_floor(const std::string& name, const std::string& prefix);
void save_floor(const FloorState& state, const std::string& prefix,
                Snapshot& snapshot);
std::optional<FloorState> read_floor(const std::string& prefix,
                                     const Snapshot& snapshot, int64_t classes,
                                     int64_t channels);

}  // namespace sotta
