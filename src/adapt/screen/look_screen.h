#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/method.h"
#include "sotta/adapt/screening.h"
#include "sotta/adapt/snapshot.h"

#include "adapt/screen/look_groups.h"

namespace sotta {

// The samples that a screen has found foreign, by their scores.
std::vector<bool> are_foreign(const std::vector<float>& scores);

struct LookScreenOptions {
  // A stream of two kinds of images shows a gap between their looks that one
  // kind never has, in deviations.
  double gap = 5.5;

  // Of two kinds one is foreign if, each kind normalised by its own statistics,
  // the shipped network learns less than this share of what it learns from the
  // other ...
  double familiarity = 0.93;

  // ... and the statistics of its last norm layers are further from the
  // shipped ones, by this factor.
  double drift = 1.1;
};

// Tells foreign images by their look (describe_look()), which adaptation does
// not move. The last samples are parted in two groups; where there is a gap
// between them, the shipped network is asked which of the two it knows: under a
// group's own statistics its predictions are sure and differ from image to
// image (mutual information) on what it was trained for, however corrupted, and
// less so on anything else. Its answers are averaged over partings for as long
// as the groups stay the same; the first have to be clearer than later ones. No
// gap, or no clear answer: nothing is foreign.
//
// Costs a forward pass of at most 64 images for every 128 samples (for every 64
// of the first 256), and keeps the looks of 256 samples and the images of 128.
class LookScreen {
 public:
  LookScreen(std::shared_ptr<const Executor> executor,
             const LookScreenOptions& options);

  // Of the stream's next part. Of images too small for a look none is foreign.
  Screening judge(const at::Tensor& images);

  // Whether each of some images is foreign; changes nothing.
  std::vector<bool> is_foreign(const at::Tensor& images) const;

  // Whether it flags anything at present, and whether that was found out anew
  // in the last call of judge().
  bool active() const { return foreign_ >= 0; }
  bool changed() const { return changed_; }

  ScreenGate gate() const;

  void exchange(StateArchive& archive);

 private:
  at::Tensor host_looks(const at::Tensor& images) const;
  std::vector<float> scores(const at::Tensor& looks) const;
  void remember(const at::Tensor& images, const at::Tensor& looks);
  void part_anew();
  void ask_about(const LookGroups& groups);
  at::Tensor some_of(const std::vector<int>& groups, int which) const;
  int64_t foreign_group() const;
  void check_stored(const StateArchive& archive) const;

  // What the shipped network makes of a group of images.
  struct Familiarity {
    double information;  // entropy of the mean prediction less mean entropy
    double drift;  // of the last norm layers' deviations, mean |log ratio|
  };
  Familiarity familiarity(const at::Tensor& images) const;

  std::shared_ptr<const Executor> executor_;
  LookScreenOptions options_;
  at::Tensor looks_;      // of the last samples, [n, D] on the host
  at::Tensor images_;     // of the last of them
  at::Tensor groups_;     // LookGroups::packed(), while there is a gap
  int64_t foreign_ = -1;  // the group that is foreign, -1: none
  // What the network said of these groups: how often, and the averages of the
  // logarithms of the second's information and drift over the first's.
  int64_t answers_ = 0;
  double information_ = 0;
  double drift_ = 0;
  int64_t unparted_ = 0;  // samples since the last parting
  double gap_ = 0;
  bool changed_ = false;
};

}  // namespace sotta
