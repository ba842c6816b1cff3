#pragma once

#include <cstdint>
#include <vector>

namespace sotta {

// Figures of a run, built up sample by sample. Shares are in percent, and NaN
// where there was nothing to take them from.

// Predictions against labels.
class ConfusionCounts {
 public:
  explicit ConfusionCounts(int64_t classes);

  // Both within 0 .. classes-1.
  void add(int64_t label, int64_t predicted);

  int64_t samples() const { return samples_; }
  int64_t correct() const { return correct_; }
  double accuracy() const;

  // The mean of F1 over the classes that occur among labels or predictions; a
  // class that was never hit has 0.
  double macro_f1() const;

 private:
  std::vector<int64_t> hits_, labels_, predicted_;  // per class
  int64_t samples_ = 0;
  int64_t correct_ = 0;
};

// Expected calibration error: how far confidence and accuracy lie apart, over
// equal bins of confidence that include their upper end, weighted by samples.
class Calibration {
 public:
  static constexpr int64_t kBins = 15;

  Calibration();

  void add(double confidence, bool correct);
  double error() const;

 private:
  struct Bin {
    int64_t samples = 0;
    int64_t correct = 0;
    double confidence = 0;  // their sum
  };
  std::vector<Bin> bins_;
};

// Counts over equal bins of 0 .. 1; values on the border of two belong to the
// upper one, 1 to the last, NaN to the first.
class Histogram {
 public:
  explicit Histogram(int64_t bins);

  void add(double value);
  const std::vector<double>& counts() const { return counts_; }

 private:
  std::vector<double> counts_;
};

// How well a score tells the wanted (which should score high) from the others;
// NaN if one of the scores is.

// The area under the receiver operating characteristic: the chance that a
// wanted one scores above another, a tie counting half.
double area_under_roc(std::vector<float> wanted, std::vector<float> others);

// The share of others that pass the highest threshold (score >= threshold)
// that lets at least 95 % of the wanted pass.
double false_positives_at_95(std::vector<float> wanted,
                             const std::vector<float>& others);

}  // namespace sotta
