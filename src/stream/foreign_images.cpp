#include "stream/foreign_images.h"

#include "sotta/core/error.h"
#include "sotta/stream/scenario.h"

#include "stream/fitted_dataset.h"

namespace sotta {
namespace {

std::shared_ptr<const Dataset> generated(
    const Scenario& scenario, int64_t seed,
    const std::shared_ptr<const Dataset>& target) {
  const Rng rng = Rng(static_cast<uint64_t>(seed)).child(scenario.name);
  auto images = scenario.foreign == Scenario::Foreign::kGenerated
                    ? scenario.generate(rng, target->shape())
                    : scenario.derive(rng, target);
  require(images && images->size() >= 1 &&
              same_shape(images->shape(), target->shape()),
          "scenario " + scenario.name,
          "expected generated images of the target's shape");
  return images;
}

}  // namespace

std::shared_ptr<const Dataset> foreign_images(const StreamOptions& options,
                                              const StreamSources& sources) {
  const Scenario& scenario = find_scenario(options.scenario);
  const auto& target = sources.domains[0].images;
  const ImageShape shape = target->shape();
  if (scenario.is_made()) return generated(scenario, options.seed, target);
  if (!scenario.takes_dataset()) return nullptr;
  if (!sources.foreign || same_shape(sources.foreign->shape(), shape))
    return sources.foreign;
  return std::make_shared<FittedDataset>(sources.foreign, shape);
}

}  // namespace sotta
