#include <gtest/gtest.h>

#include "sotta/eval/cell_claims.h"

namespace sotta {
namespace {

TEST(LocalClaims, EveryCellIsOurs) {
  const auto claims = make_local_claims();
  EXPECT_EQ(claims->claim("a"), CellClaims::Answer::kMine);
  claims->release("a");
  EXPECT_EQ(claims->claim("a"), CellClaims::Answer::kMine);
}

TEST(LocalClaims, KeepNothingInMind) {
  const auto claims = make_local_claims();
  claims->finish("a");
  claims->mark_failed("b");
  for (const char* cell : {"a", "b"})
    EXPECT_EQ(claims->claim(cell), CellClaims::Answer::kMine);
}

}  // namespace
}  // namespace sotta
