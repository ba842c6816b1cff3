#pragma once

#include <limits>
#include <vector>

namespace sotta {

// What a screen for foreign images knows of the stream.
struct ScreenGate {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  // Whether it keeps one kind of images out at present.
  bool closed = false;

  // Between the two kinds in which the last images were parted, in deviations;
  // 0 before the first parting, and where they are all of one.
  double gap = 0;

  // Of the kind that the shipped network knows less over the other: how much it
  // learns from an image (mutual information; below 1), and how far the kind's
  // statistics are from the shipped ones. NaN where it was not asked.
  double information = kNone;
  double drift = kNone;
};

// What a screen made of some samples.
struct Screening {
  // One per sample: by how much its look is likelier among the foreign images
  // than among the others (difference of the log likelihoods). Above 0 it is
  // foreign. 0 while the gate is open. Empty for a method without such a
  // screen.
  std::vector<float> scores;

  ScreenGate gate;  // after them

  bool defined() const { return !scores.empty(); }
};

}  // namespace sotta
