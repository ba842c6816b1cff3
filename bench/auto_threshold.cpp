// What SoTTA's `min_confidence = -1` gives for a model: from images of a
// dataset's test split, as source images, and from the number of classes alone.
//   auto_threshold MODEL DATASET DATA_ROOT [IMAGES, default 2000]
#include <algorithm>
#include <cstdio>
#include <string>

#include "sotta/core/error.h"
#include "sotta/data/dataset.h"
#include "sotta/models/weights.h"

#include "adapt/methods/confidence_threshold.h"
#include "data/sets/catalog.h"

namespace sotta::bench {
namespace {

void print_thresholds(const std::string& model, const std::string& dataset,
                      const std::string& root, int64_t count) {
  const DatasetEntry& entry = find_dataset(dataset);
  LoadOptions options;
  options.default_normalisation = Normalisation{entry.mean, entry.std};
  MethodContext context;
  context.model = load_classifier(model, options);
  const double by_classes = automatic_threshold(context);

  const auto data = open_dataset(dataset, root);
  const int64_t images = std::min(count, data->size());
  context.source_images = data->range(0, images).images;
  std::printf("%s: %.3f from %lld images, %.2f from %lld classes\n",
              dataset.c_str(), automatic_threshold(context),
              static_cast<long long>(images), by_classes,
              static_cast<long long>(entry.classes));
}

}  // namespace
}  // namespace sotta::bench

int main(int argc, char** argv) try {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: auto_threshold MODEL DATASET DATA_ROOT [IMAGES]\n");
    return 2;
  }
  sotta::bench::print_thresholds(argv[1], argv[2], argv[3],
                                 argc > 4 ? std::stoll(argv[4]) : 2000);
} catch (const std::exception& error) {
  std::fprintf(stderr, "auto_threshold: %s\n", error.what());
  return 2;
}
