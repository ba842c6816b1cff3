#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/snapshot.h"

namespace sotta {

// What the softmax probabilities [N, K] of N images say about the images, in
// nats. Corrected for what the entropy of a mean over few images is too small.
struct Telling {
  double variety = 0;  // entropy of the mean: ln K if all classes are as common
  double doubt = 0;    // mean entropy: 0 if every image is sure

  // What an answer tells about its image (mutual information): 0 if all are the
  // same, as of a network that has collapsed, or all even; at most ln K.
  double information() const { return variety - doubt; }
};
Telling telling_of(const at::Tensor& probabilities);

// The answers of two networks to the same images of a stream, and which of the
// two tell more. No labels: a network that still knows what it sees is sure of
// single images, and its answers differ from image to image; one that has lost
// its way calls everything the same, or is sure of nothing.
//
// A stream may hold two kinds of images (LookGroups). Foreign ones that a
// network spreads over the classes would count in its favour, so only the kind
// counts of which the two networks together know clearly more; if there is no
// such kind, both count alike.
//
// Keeps looks and probabilities of the last kAnswers images, on the host. Looks
// are parted anew when as many more have come as were parted the last time:
// that takes longer than all else.
class AnswerComparison {
 public:
  static constexpr int64_t kAnswers = 256;

  // `looks` [N, D] (describe_look()) is undefined if images are too small to
  // have any; then all are taken for one kind. `adapted` and `source` are
  // float [N, K]. Rows that are not finite are left out.
  void add(const at::Tensor& looks, const at::Tensor& adapted,
           const at::Tensor& source);

  void forget();
  int64_t size() const { return adapted_.defined() ? adapted_.size(0) : 0; }

  struct Result {
    // How far the adapted network is ahead in information, in nats; variety
    // that it has lost counts twice. Entropy minimisation loses doubt faster
    // than errors, which looks like information.
    //
    // Where the source model sees few classes, as in a stream sorted by class,
    // an adapted network that tells less may well be the better one. Then this
    // is `undecided`, or -1 if that calls the images by classes that the source
    // model hardly sees.
    double ahead = 0;
    bool undecided = false;
    int64_t images = 0;  // that count
  };

  // None of fewer than kFewest images.
  static constexpr int64_t kFewest = 64;
  std::optional<Result> compare();

  // As tensors named `prefix`adapted, source, looks, groups, counts. Reading
  // throws Error(kBadFormat) if they could not have come about with a network
  // of so many classes and channels.
  void save(const std::string& prefix, Snapshot& snapshot) const;
  static AnswerComparison read(const std::string& prefix,
                               const Snapshot& snapshot, int64_t classes,
                               int64_t channels);

 private:
  void part_looks();
  bool fits(int64_t classes, int64_t channels) const;

  at::Tensor looks_, adapted_, source_;
  at::Tensor groups_;     // LookGroups::packed(), if there is a gap
  int64_t parted_ = 0;    // images whose looks were parted
  int64_t unparted_ = 0;  // images since then
};

}  // namespace sotta
