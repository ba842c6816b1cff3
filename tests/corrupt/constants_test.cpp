#include "corrupt/constants.h"

#include <gtest/gtest.h>

#include "sotta/corrupt/corruption.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

KindSetting setting(ConstantSet constants, int64_t severity) {
  KindSetting result;
  result.constants = constants;
  result.severity = severity;
  return result;
}

TEST(Constants, EveryKindHasThemForBothSetsAndAllSeverities) {
  for (const std::string& kind : corruption_names())
    for (const auto set : {ConstantSet::kCifar, ConstantSet::kImageNet})
      for (int64_t severity = 1; severity <= kMaxSeverity; ++severity) {
        const Constants found =
            severity_constants(kind, setting(set, severity));
        EXPECT_NE(found, Constants{}) << kind << " " << severity;
      }
}

TEST(Constants, DifferFromSeverityToSeverity) {
  for (const std::string& kind : corruption_names())
    for (const auto set : {ConstantSet::kCifar, ConstantSet::kImageNet})
      for (int64_t severity = 2; severity <= kMaxSeverity; ++severity)
        EXPECT_NE(severity_constants(kind, setting(set, severity)),
                  severity_constants(kind, setting(set, severity - 1)))
            << kind << " " << severity;
}

TEST(Constants, ArePublishedOnes) {
  EXPECT_EQ(severity_constants("jpeg_compression",
                               setting(ConstantSet::kImageNet, 5))[0],
            7);
  EXPECT_EQ(severity_constants("snow", setting(ConstantSet::kCifar, 4)),
            (Constants{.25, .3, 2.25, .6, 12, 6, .85}));
  EXPECT_DOUBLE_EQ(severity_constants("elastic_transform",
                                      setting(ConstantSet::kImageNet, 1))[1],
                   170.8);
}

TEST(Constants, AnUnknownKindIsAnError) {
  testing::expect_error(ErrorKind::kInvalid, "rain", [] {
    severity_constants("rain", setting(ConstantSet::kCifar, 1));
  });
}

}  // namespace
}  // namespace sotta
