#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/prediction.h"
#include "sotta/models/classifier.h"

namespace sotta {

// What a network says of some images, in the host's memory.
struct HostPrediction {
  at::Tensor logits;  // [N, classes]
  Prediction prediction;
};

// How many lanes a pass on a GPU is given for so many: the next of 1, 2, 3, 4,
// 6, 8, 12, 16, 24 .., but no more than `most`. A size that is new there costs
// as much as hundreds of passes, since ways to convolve are tried for it.
int64_t round_up_lanes(int64_t lanes, int64_t most);

// Predicts images of many streams in one forward pass. One thread computes all
// that wait, and those that come meanwhile in its next pass: images go to a GPU
// in one transfer, and what is said of them comes back in one, which both take
// as long for one image as for many.
//
//   this thread    | pass of 1 | pass of 2, 3, 4 |
//   stream 1       ask .. answer
//   streams 2 - 4     ask ............... answer
//
// Thread-safe.
class PredictionBatch {
 public:
  // On a CPU passes use so many threads.
  explicit PredictionBatch(int64_t threads);

  // No call of predict() may be left.
  ~PredictionBatch();
  PredictionBatch(const PredictionBatch&) = delete;
  PredictionBatch& operator=(const PredictionBatch&) = delete;

  // Without gradients. The images may be the host's or on the state's device;
  // what the calling thread has asked of that device is done first. Throws what
  // the network throws.
  HostPrediction predict(const Classifier& model, Lane lane);

 private:
  struct Request;

  void serve();

  const int64_t threads_;
  std::mutex mutex_;
  std::condition_variable has_request_;
  std::vector<Request*> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace sotta
