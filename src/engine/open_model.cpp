#include "sotta/engine/open_model.h"

namespace sotta {

std::unique_ptr<Classifier> open_model(const std::filesystem::path& file,
                                       const ModelOptions& options) {
  return choose_engine(load_classifier(file, options), options.engine);
}

}  // namespace sotta
