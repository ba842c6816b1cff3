#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/models/classifier.h"

namespace sotta {

// Whether a method runs with a network.
struct MethodFit {
  std::string name;
  std::string label;
  bool fits = false;
  std::string note;  // why not, or what it needs beside the network
};

// Tries every method: some images are predicted and adapted to. They need not
// mean anything, [N, C, H, W] as Classifier::forward() takes them.
std::vector<MethodFit> try_methods(
    const std::shared_ptr<const Classifier>& model, const at::Tensor& images);

// Those of the sides that the network takes square images of.
std::vector<int64_t> sides_taken(const Classifier& model,
                                 const std::vector<int64_t>& sides);

// The norm layers that SAR and SoTTA leave alone by default.
std::vector<std::string> frozen_by_default(const Classifier& model);

// "batch", "layer", "group", "instance"
const char* norm_kind_name(NormKind kind);

// How many norm layers of each kind there are, by their names.
std::map<std::string, int64_t> count_norm_kinds(const Classifier& model);

// Mean and standard deviation of images behind the network's normalisation, by
// channel.
struct InputMoments {
  std::vector<double> mean, std;
};
InputMoments input_moments(const Classifier& model, const at::Tensor& images);

// What looks wrong about them, in one sentence; empty if nothing does. Networks
// are trained on inputs of about zero mean and unit variance: a mean further
// than 1 from 0 or a standard deviation outside 0.4 to 2.5 is no longer the
// variety of images.
std::string complaint_about(const InputMoments& moments);

}  // namespace sotta
