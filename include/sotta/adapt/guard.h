#pragma once

#include <cstdint>
#include <string>

namespace sotta {

// Watches an adapter for signs that it is being led astray. Off by default, so
// that published numbers reproduce; a product turns it on.
struct GuardOptions {
  // What to do when a guard trips: "off" (no guards), "skip" (take the update
  // back), "rollback" (return to the last good snapshot) or "reset" (return to
  // the source model). "floor" compares the adapted network's answers with the
  // source model's in place of the limits on changes and shares below; while
  // they tell less, the source model answers (docs/floor.md).
  std::string action = "off";

  // Largest norm of one update's parameter change; 0 does not limit it. One
  // Adam step at rate 1e-3 over 9,600 parameters moves by at most about 0.1.
  double max_parameter_change = 1.0;

  // The predicted classes have collapsed when one of them takes more than this
  // share of the last `history` windows. 1 turns it off. Streams sorted by
  // class need more than the default.
  double max_class_share = 0.9;

  // Nothing or everything is admitted: trips when the share of admitted samples
  // over the last `history` windows is below or above these. 0 and 1 turn it
  // off.
  double min_admitted_share = 0.0;
  double max_admitted_share = 1.0;

  // Windows that shares are taken over, and that lie between two snapshots to
  // roll back to.
  int64_t history = 8;

  // Of a floor: every so many windows the source model is asked too. Its
  // answers count for so many nats more than they tell, and two networks of
  // which 256 images say less than this are as good (fewer have to be clearer).
  int64_t look_every = 2;
  double margin = 0.04;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("guard", action, "off, skip, rollback, reset or floor");
    v("guard_max_parameter_change", max_parameter_change,
      "largest norm of an update, 0 for no limit");
    v("guard_max_class_share", max_class_share,
      "collapse: largest share of one predicted class");
    v("guard_min_admitted_share", min_admitted_share,
      "starvation: smallest share of admitted samples");
    v("guard_max_admitted_share", max_admitted_share,
      "no screening left: largest share of admitted samples");
    v("guard_history", history, "windows that shares are taken over");
    v("guard_look_every", look_every, "floor: windows between two looks");
    v("guard_margin", margin, "floor: nats that tell two networks apart");
  }
};

// Throws Error(kInvalid) naming the first field out of its range, or set
// without effect: limits for a floor, a floor's options for other guards.
void validate(const GuardOptions& options);

}  // namespace sotta
