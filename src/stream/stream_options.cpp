#include "sotta/stream/stream_options.h"

#include "sotta/core/error.h"
#include "sotta/core/options.h"
#include "sotta/stream/scenario.h"

#include "core/checks.h"

namespace sotta {

void validate(const StreamOptions& options) {
  require(find_scenario(options.scenario).takes_dataset() ||
              options.foreign.empty(),
          "foreign",
          "a foreign set goes with a scenario that takes a dataset, not with " +
              options.scenario);
  require_at_least("foreign_count", options.foreign_count, -1);
  // Written so that NaN fails too.
  require(options.foreign_share >= 0 && options.foreign_share < 1,
          "foreign_share",
          "expected 0 to below 1, got " + to_text(options.foreign_share));
  require(options.foreign_share == 0 || options.foreign_count == -1,
          "foreign_share", "expected either this or foreign_count, got both");
  require_at_least("burst", options.burst, 0);
  require_at_least("limit", options.limit, 0);
  require_one_of("order", options.order, {"shuffled", "dirichlet"});
  require(options.concentration > 0 && options.concentration <= 1e6,
          "concentration",
          "expected above 0 to 1e6, got " + to_text(options.concentration));
  require_one_of("domains", options.domains, {"continual", "mixed"});
  require_at_least("window", options.window, 1);
  require_at_least("read_ahead", options.read_ahead, 0);
}

}  // namespace sotta
