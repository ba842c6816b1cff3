#include "eval/begin_record.h"

#include <algorithm>

#include <torch/version.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/version.h"
#include "sotta/corrupt/corruption.h"
#include "sotta/corrupt/corruption_kind.h"
#include "sotta/stream/scenario.h"

namespace sotta {

RunRecord begin_record(const RunNames& names) {
  RunRecord record;
  record.version = version();
  record.libtorch = TORCH_VERSION;
  record.verb = names.verb;
  record.dataset = names.dataset;
  record.method = names.method;
  record.method_label = find_method(names.method).label;
  record.scenario = names.scenario;
  if (!names.scenario.empty())
    record.scenario_label = find_scenario(names.scenario).label;
  record.corruption = names.corruption;
  const auto known = corruption_names();
  if (std::count(known.begin(), known.end(), names.corruption) > 0)
    record.corruption_label = find_corruption(names.corruption).label;
  return record;
}

}  // namespace sotta
