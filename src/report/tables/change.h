#pragma once

#include <cstdint>
#include <limits>
#include <map>

namespace sotta {

enum class ChangeKind {
  kSame,         // to the last digit, in every seed
  kWithinNoise,  // the interval has 0 in it
  kHigher,       // it lies above 0
  kLower,        // below
};

// What an interval is taken from.
enum class ChangeBasis {
  kPairedSeeds,  // differences of the same seeds
  kSeeds,        // the spread over seeds of either side
  kImages,       // one seed: the number of images
};

// How one number per seed differs between two sets of runs.
struct Change {
  double now = std::numeric_limits<double>::quiet_NaN();  // means
  double before = std::numeric_limits<double>::quiet_NaN();
  int64_t now_seeds = 0;
  int64_t before_seeds = 0;
  double difference = std::numeric_limits<double>::quiet_NaN();

  // 95 % interval of the difference.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  ChangeBasis basis = ChangeBasis::kImages;

  ChangeKind kind = ChangeKind::kSame;
};

// A seed decides about the stream and the model, which makes up most of the
// spread between seeds. So where both sides share two or more seeds, these
// alone are compared, one by one (Student's interval of the paired
// differences); otherwise, with two or more on each side, Welch's interval is
// taken. Where a side has one seed it is the normal interval of `image_error`,
// the standard error that the number of images gives the difference: runs of
// the same images differ by less, and methods that break by more. Neither side
// may be empty.
Change compare_seeds(const std::map<int64_t, double>& now,
                     const std::map<int64_t, double>& before,
                     double image_error);

}  // namespace sotta
