#pragma once

namespace sotta {

// Where the norm layers of one forward pass take mean and variance from.
// Always said at the call, never hidden in a module's mode.
struct NormStats {
  enum class Source {
    kRunning,  // the running averages: a sample's result is its own affair
    kBatch,    // this batch's statistics
    kBlended,  // a mixture of both (RoTTA)
  };

  Source source = Source::kRunning;

  // kBlended only: the batch's share, 0 to 1.
  double batch_share = 0;

  static NormStats running() { return {}; }
  static NormStats batch() { return {Source::kBatch, 1}; }
  static NormStats blended(double batch_share) {
    return {Source::kBlended, batch_share};
  }
};

}  // namespace sotta
