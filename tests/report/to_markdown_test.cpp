#include <gtest/gtest.h>

#include "tests/report/small_report.h"

namespace sotta {
namespace {

TEST(ToMarkdown, IsThisText) {
  EXPECT_EQ(to_markdown(testing::small_report()), R"(# Results

Two runs.

## odd\_set

### Accuracy (%)

| Method | A &amp; B | &lt;C&gt; |
|---|---:|---:|
| my\_method | **82.3 ± 0.2**<br><sub>worst 82.0</sub><br><sub>paper 82.2 (+0.1)</sub> | — |
| 50% | 70.0\*<br><sub>3 of 15</sub> | a\|b, "c" |

3 seeds.
± is the sample standard deviation over seeds, worst the worst seed.
Bold: the best of its column.
paper: the number that the paper states, and ours minus it.
\*: no seed has all corruptions that this average should be over; it is over "n of m" and does not compete for the best.
—: not run, or not measured.

### A &amp; B

![A &amp; B](figures/set-clean-y.svg)

How it went.

)");
}

}  // namespace
}  // namespace sotta
