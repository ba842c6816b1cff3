#include "sotta/adapt/make_adapter.h"

#include <set>

#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "adapt/methods/tent.h"
#include "tests/adapt/trace.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

TEST(MakeAdapter, KnowsThePapersMethodsAndOurVariant) {
  const auto names = method_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
            (std::set<std::string>{"source", "bn_stats", "pseudo_label", "tent",
                                   "lame", "cotta", "eata", "sar", "rotta",
                                   "sotta", "screened_sotta"}));
}

TEST(MakeAdapter, ListsEveryMethodsOptionsWithHelp) {
  for (const auto& name : method_names())
    for (const auto& field : method_options(name, Preset::kClean, 10)) {
      EXPECT_FALSE(field.name.empty()) << name;
      EXPECT_FALSE(field.help.empty()) << name << " " << field.name;
    }
}

TEST(MakeAdapter, SourceAndLameNeedOnlyWhatTheSourceModelSays) {
  for (const auto& name : method_names())
    EXPECT_EQ(find_method(name).rule != nullptr,
              name == "source" || name == "lame")
        << name;
}

TEST(MakeAdapter, AMethodIsRefusedIfItsNameIsTakenOrItsFunctionsMissing) {
  const auto refused = [](const MethodEntry& entry, const std::string& part) {
    testing::expect_error(ErrorKind::kInvalid, part,
                          [&] { register_method(entry); });
  };
  refused(method_entry("tent", "Another", make_tent),
          "\"tent\" is there already");
  refused({"mine", "Mine", nullptr, nullptr, nullptr},
          "method mine: expected functions");
}

TEST(MakeAdapter, PresetsDifferWhereThePublishedCodeDid) {
  const auto decay = [](const std::string& method, Preset preset) {
    for (const auto& field : method_options(method, preset, 10))
      if (field.name == "weight_decay") return std::get<double>(field.value);
    return -1.0;
  };
  for (const char* method :
       {"sotta", "tent", "pseudo_label", "cotta", "eata"}) {
    EXPECT_EQ(decay(method, Preset::kClean), 0) << method;
    EXPECT_EQ(decay(method, Preset::kPaper), 5e-4) << method;
  }
}

TEST(MakeAdapter, UnknownOptionNamesTheMethodAndTheNearest) {
  MethodContext context;
  context.model = testing::golden_network();
  try {
    make_adapter("tent", context, Preset::kClean, {{"learning_rat", 0.1}});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "tent: unknown name \"learning_rat\", did you mean "
                 "\"learning_rate\"?");
  }
}

}  // namespace
}  // namespace sotta
