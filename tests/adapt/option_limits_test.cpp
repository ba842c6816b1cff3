#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "sotta/adapt/guard.h"
#include "sotta/adapt/odin.h"
#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "adapt/methods/cotta.h"
#include "adapt/methods/eata.h"
#include "adapt/methods/lame.h"
#include "adapt/methods/pseudo_label.h"
#include "adapt/methods/rotta.h"
#include "adapt/methods/sar.h"
#include "adapt/methods/sotta.h"
#include "adapt/methods/tent.h"

namespace sotta {
namespace {

constexpr int64_t kMillion = 1 << 20;
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
constexpr double kLargest = std::numeric_limits<double>::max();

// What validate() says of the defaults with one change; "" if it is content.
template <class Options, class Value>
std::string objection_to(const std::string& name, Value value) {
  Options options;
  assign_options(options, {{name, value}}, "options");
  try {
    validate(options);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

double next_below(double value) {
  return std::nextafter(value, -INFINITY);
}
double next_above(double value) {
  return std::nextafter(value, INFINITY);
}
int64_t next_below(int64_t value) {
  return value - 1;
}
int64_t next_above(int64_t value) {
  return value + 1;
}

template <class Options, class Value>
void expect_limits(const std::string& name, Value lowest, Value highest,
                   const std::string& expected) {
  const auto refusal = [&](Value value) {
    return name + ": expected " + expected + ", got " + to_text(value);
  };
  const auto objection = [&](Value value) {
    return objection_to<Options>(name, value);
  };
  EXPECT_EQ(objection(lowest), "");
  EXPECT_EQ(objection(highest), "");
  EXPECT_EQ(objection(next_below(lowest)), refusal(next_below(lowest)));
  if (highest < std::numeric_limits<Value>::max() ||
      std::is_same_v<Value, double>) {
    EXPECT_EQ(objection(next_above(highest)), refusal(next_above(highest)));
  }
  if constexpr (std::is_same_v<Value, double>) {
    EXPECT_EQ(objection(std::nan("")), refusal(std::nan("")));
  }
}

template <class Options>
void expect_within(const std::string& name, double low, double high) {
  expect_limits<Options>(name, low, high,
                         to_text(low) + " to " + to_text(high));
}

template <class Options>
void expect_count(const std::string& name, int64_t high) {
  expect_limits<Options>(name, int64_t{1}, high, "1 to " + to_text(high));
}

template <class Options>
void expect_positive(const std::string& name) {
  expect_limits<Options>(name, kSmallest, kLargest, "a number above 0");
}

template <class Options>
void expect_not_negative(const std::string& name) {
  expect_limits<Options>(name, 0.0, kLargest, "a number of at least 0");
}

TEST(OptionLimits, AreThoseOfSotta) {
  expect_count<SottaOptions>("memory_capacity", kMillion);
  expect_count<SottaOptions>("stats_updates", 2);
  expect_within<SottaOptions>("min_confidence", 0, 1);
  expect_within<SottaOptions>("stats_momentum", 0, 1);
  expect_positive<SottaOptions>("sharpness_radius");
  expect_positive<SottaOptions>("learning_rate");
  expect_not_negative<SottaOptions>("weight_decay");
  EXPECT_EQ(objection_to<SottaOptions>("min_confidence", -1.0), "");
}

TEST(OptionLimits, AreThoseOfCotta) {
  expect_count<CottaOptions>("augmentations", kMillion);
  expect_within<CottaOptions>("anchor_confidence", 0, 1);
  expect_within<CottaOptions>("teacher_momentum", 0, 1);
  expect_within<CottaOptions>("restore_probability", 0, 1);
  expect_positive<CottaOptions>("learning_rate");
  expect_not_negative<CottaOptions>("weight_decay");
}

TEST(OptionLimits, AreThoseOfEata) {
  expect_count<EataOptions>("fisher_samples", int64_t{1} << 40);
  expect_count<EataOptions>("fisher_batch", kMillion);
  expect_within<EataOptions>("probability_momentum", 0, 1);
  expect_within<EataOptions>("momentum", 0, 0.9999);
  expect_positive<EataOptions>("entropy_margin");
  expect_positive<EataOptions>("learning_rate");
  expect_not_negative<EataOptions>("redundancy_margin");
  expect_not_negative<EataOptions>("fisher_weight");
  expect_not_negative<EataOptions>("weight_decay");
}

TEST(OptionLimits, AreThoseOfSar) {
  expect_within<SarOptions>("ema_momentum", 0, 1);
  expect_within<SarOptions>("momentum", 0, 0.9999);
  expect_positive<SarOptions>("entropy_margin");
  expect_positive<SarOptions>("sharpness_radius");
  expect_positive<SarOptions>("learning_rate");
  expect_not_negative<SarOptions>("reset_threshold");
}

TEST(OptionLimits, AreThoseOfRotta) {
  expect_count<RottaOptions>("memory_capacity", kMillion);
  expect_within<RottaOptions>("batch_share", 0, 1);
  expect_within<RottaOptions>("teacher_momentum", 0, 1);
  expect_positive<RottaOptions>("learning_rate");
}

TEST(OptionLimits, AreThoseOfLame) {
  expect_count<LameOptions>("neighbours", kMillion);
  expect_count<LameOptions>("max_iterations", kMillion);
  expect_not_negative<LameOptions>("affinity_weight");
  expect_not_negative<LameOptions>("tolerance");
}

TEST(OptionLimits, AreThoseOfTentAndPseudoLabel) {
  expect_within<TentOptions>("momentum", 0, 0.9999);
  expect_positive<TentOptions>("learning_rate");
  expect_not_negative<TentOptions>("weight_decay");
  expect_positive<PseudoLabelOptions>("learning_rate");
  expect_not_negative<PseudoLabelOptions>("weight_decay");
}

TEST(OptionLimits, AreThoseOfOdin) {
  expect_within<OdinOptions>("odin_threshold", 0, 1);
  expect_positive<OdinOptions>("odin_temperature");
  expect_not_negative<OdinOptions>("odin_step");
}

TEST(OptionLimits, AreThoseOfTheGuard) {
  expect_within<GuardOptions>("guard_max_class_share", 0, 1);
  expect_within<GuardOptions>("guard_min_admitted_share", 0, 1);
  expect_within<GuardOptions>("guard_max_admitted_share", 0, 1);
  expect_not_negative<GuardOptions>("guard_max_parameter_change");
  expect_limits<GuardOptions>("guard_history", int64_t{1},
                              std::numeric_limits<int64_t>::max(),
                              "at least 1");
}

TEST(OptionLimits, NamesOutsideOfAListAreRefusedByTheirOption) {
  const auto unknown = [](const std::string& option, const std::string& name) {
    return option + ": unknown name \"" + name + "\"";
  };
  const std::string text = "another thing";
  EXPECT_EQ(objection_to<SottaOptions>("memory", text)
                .rfind(unknown("memory", text), 0),
            0u);
  EXPECT_EQ(objection_to<TentOptions>("optimiser", text)
                .rfind(unknown("optimiser", text), 0),
            0u);
  EXPECT_EQ(objection_to<GuardOptions>("guard", text)
                .rfind(unknown("guard", text), 0),
            0u);
  for (const char* name :
       {"hus", "hus_cleared", "confident_fifo", "uniform_class", "fifo"})
    EXPECT_EQ(objection_to<SottaOptions>("memory", std::string(name)), "");
  for (const char* name : {"adam", "sgd"})
    EXPECT_EQ(objection_to<TentOptions>("optimiser", std::string(name)), "");
  for (const char* name : {"off", "skip", "rollback", "reset"})
    EXPECT_EQ(objection_to<GuardOptions>("guard", std::string(name)), "");
}

}  // namespace
}  // namespace sotta
