#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sotta/models/classifier.h"

namespace sotta::engine {

// A classifier of the engines' own: the reference's network in all but how a
// pass is computed.
class WrappedClassifier : public Classifier {
 public:
  explicit WrappedClassifier(std::unique_ptr<Classifier> reference)
      : reference_(std::move(reference)) {}

  const ModelState& source() const override { return reference_->source(); }
  int64_t classes() const override { return reference_->classes(); }
  int64_t channels() const override { return reference_->channels(); }
  DeviceSettings device_settings() const override {
    return reference_->device_settings();
  }
  const std::vector<NormLayer>& norm_layers() const override {
    return reference_->norm_layers();
  }
  const Normalisation& normalisation() const override {
    return reference_->normalisation();
  }
  NamedTensors named_tensors(const ModelState& state) const override {
    return reference_->named_tensors(state);
  }

 protected:
  const Classifier& reference() const { return *reference_; }

 private:
  std::unique_ptr<Classifier> reference_;
};

}  // namespace sotta::engine
