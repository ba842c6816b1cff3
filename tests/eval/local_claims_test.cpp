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

}  // namespace
}  // namespace sotta
