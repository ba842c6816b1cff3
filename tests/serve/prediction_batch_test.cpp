#include "serve/streams/prediction_batch.h"

#include <atomic>
#include <thread>

#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using testing::small_model;

Lane lane_of(const Classifier& model, int64_t images, int64_t side = 8) {
  return {at::randint(256, {images, model.channels(), side, side}, at::kByte),
          model.source(), NormStats::running()};
}

TEST(PredictionBatch, GivesAGpuFewNumbersOfLanes) {
  std::vector<int64_t> rounded;
  for (int64_t lanes = 1; lanes <= 17; ++lanes)
    rounded.push_back(round_up_lanes(lanes, 64));
  EXPECT_EQ(rounded, (std::vector<int64_t>{1, 2, 3, 4, 6, 6, 8, 8, 12, 12, 12,
                                           12, 16, 16, 16, 16, 24}));
  EXPECT_EQ(round_up_lanes(49, 64), 64);
  EXPECT_EQ(round_up_lanes(49, 50), 50);
  EXPECT_EQ(round_up_lanes(50, 50), 50);
}

TEST(PredictionBatch, SaysOfLanesOfAnySizeWhatTheNetworkSaysOfThemAlone) {
  const auto model = small_model().network;
  PredictionBatch batch(2);
  std::atomic<int> equal{0};

  std::vector<std::thread> streams;
  for (int i = 0; i < 8; ++i)
    streams.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        const Lane lane = lane_of(*model, 1 + i % 3);
        const HostPrediction found = batch.predict(*model, lane);
        const at::Tensor logits =
            model->forward(lane.images, lane.state, lane.stats).logits;
        const Prediction wanted = classify(logits);
        if (at::equal(found.logits, logits) &&
            at::equal(found.prediction.labels, wanted.labels) &&
            at::equal(found.prediction.confidences, wanted.confidences))
          ++equal;
      }
    });
  for (std::thread& stream : streams)
    stream.join();

  EXPECT_EQ(equal, 160);
}

TEST(PredictionBatch, WhatTheNetworkRefusesIsThrownToItsCallerAlone) {
  const auto model = small_model().network;
  PredictionBatch batch(1);
  std::atomic<int> refused{0}, answered{0};

  std::vector<std::thread> streams;
  for (int i = 0; i < 6; ++i)
    streams.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        Lane lane = lane_of(*model, 1);
        if (i % 2 == 0) lane.images = lane.images.to(at::kInt);
        try {
          batch.predict(*model, lane);
          ++answered;
        } catch (const Error&) {
          ++refused;
        }
      }
    });
  for (std::thread& stream : streams)
    stream.join();

  EXPECT_EQ(refused, 60);
  EXPECT_EQ(answered, 60);
}

}  // namespace
}  // namespace sotta
