#include "stream/foreign_images.h"

#include "sotta/core/error.h"
#include "sotta/stream/scenario.h"

#include "stream/fitted_dataset.h"

namespace sotta {
namespace {

std::shared_ptr<const Dataset> generated(const Scenario& scenario, int64_t seed,
                                         const ImageShape& shape) {
  const Rng rng(static_cast<uint64_t>(seed));
  auto images = scenario.generate(rng.child(scenario.name), shape);
  require(images && images->size() >= 1 && same_shape(images->shape(), shape),
          "scenario " + scenario.name,
          "expected generated images of the target's shape");
  return images;
}

}  // namespace

std::shared_ptr<const Dataset> foreign_images(const StreamOptions& options,
                                              const StreamSources& sources) {
  const Scenario& scenario = find_scenario(options.scenario);
  const ImageShape shape = sources.domains[0].images->shape();
  if (scenario.foreign == Scenario::Foreign::kGenerated)
    return generated(scenario, options.seed, shape);
  if (!scenario.takes_dataset()) return nullptr;
  if (!sources.foreign || same_shape(sources.foreign->shape(), shape))
    return sources.foreign;
  return std::make_shared<FittedDataset>(sources.foreign, shape);
}

}  // namespace sotta
