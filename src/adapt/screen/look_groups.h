#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// Two kinds of looks, each a Gaussian in the plane of the principal components
// of all: what tells later samples apart.
class LookGroups {
 public:
  LookGroups() = default;

  // Parts looks [N, D], on the host, N at least 48, by a mixture of two
  // Gaussians, begun from several places; of what comes out the parting with
  // the widest gap.
  static LookGroups part(const at::Tensor& looks);

  // The gap: distance of the groups' means along the line that tells them apart
  // best, in deviations. Below 5 for one kind of images that is parted by
  // force. 0 if there were no two groups of 16 or more, or a look is NaN.
  double gap() const { return gap_; }

  // The group of each of some looks [N, D], 0 or 1.
  std::vector<int> group_of(const at::Tensor& looks) const;

  // Of each the logarithm of how much likelier it is in the second group than
  // in the first: above 0 the group is 1.
  std::vector<float> odds_of_second(const at::Tensor& looks) const;

  // Everything group_of() needs as one float vector, and back; undefined before
  // the first parting.
  at::Tensor packed() const { return packed_; }
  static LookGroups unpacked(const at::Tensor& packed);
  static int64_t packed_size(int64_t looks);

  bool defined() const { return packed_.defined(); }

 private:
  at::Tensor packed_;
  double gap_ = 0;
};

}  // namespace sotta
