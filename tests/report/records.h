#pragma once

#include <string>
#include <utility>

#include "sotta/record/run_record.h"

namespace sotta::testing {

// A run of CIFAR-10 as the tests need one; the rest is changed in place.
inline RunRecord run(const std::string& method, const std::string& scenario,
                     const std::string& corruption, int64_t seed,
                     double accuracy) {
  RunRecord record;
  record.version = "0.1.0";
  record.libtorch = "1.13.1";
  record.verb = "bench";
  record.dataset = "cifar10";
  record.scenario = scenario;
  record.corruption = corruption;
  record.severity = 5;
  record.method = method;
  record.device = "cpu";
  record.engine = "libtorch";
  record.threads = 2;
  record.seed = seed;
  record.samples = 1000;
  record.correct = static_cast<int64_t>(10 * accuracy + 0.5);
  record.accuracy = accuracy;
  return record;
}

inline RunRecord with_option(RunRecord record, const std::string& name,
                             OptionValue value) {
  record.options[name] = std::move(value);
  return record;
}

inline RunRecord with_variant(RunRecord record, const std::string& variant) {
  record.variant = variant;
  return record;
}

}  // namespace sotta::testing
