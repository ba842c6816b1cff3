#include "sotta/stream/stream_sources.h"

#include <algorithm>

#include "sotta/core/error.h"
#include "sotta/data/catalog.h"
#include "sotta/data/dataset_files.h"
#include "sotta/data/image_folder.h"
#include "sotta/data/open_dataset.h"
#include "sotta/stream/scenario.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

bool is_there(const DatasetChoice& choice, const fs::path& root) {
  const DatasetEntry& entry = find_dataset(choice.dataset);
  const DatasetSplit& split = find_split(entry, choice.split);
  return std::all_of(split.files.begin(), split.files.end(),
                     [&](const DatasetFile& file) {
                       return !locate(entry, file, root).empty();
                     });
}

// The first that is there; the first of all if none is, for its error message.
DatasetChoice first_there(const std::vector<DatasetChoice>& choices,
                          const fs::path& root) {
  for (const DatasetChoice& choice : choices)
    if (is_there(choice, root)) return choice;
  return choices.front();
}

std::unique_ptr<Dataset> open_folder(const fs::path& folder,
                                     const ImageShape& shape) {
  ImageFolderOptions options;
  options.height = shape.height;
  options.width = shape.width;
  options.shorter_side = 0;
  return std::make_unique<ImageFolder>(folder, options);
}

// Photographs go to the target's size in one step when they are decoded; all
// else is brought there by the stream.
std::unique_ptr<Dataset> open_foreign(const DatasetChoice& choice,
                                      const fs::path& root,
                                      const ImageShape& shape) {
  const DatasetEntry& entry = find_dataset(choice.dataset);
  const DatasetSplit& split = find_split(entry, choice.split);
  if (entry.layout == DatasetLayout::kFolders && is_there(choice, root))
    return open_folder(locate(entry, split.files[0], root), shape);
  return open_dataset(choice.dataset, root, choice.split);
}

DatasetChoice parse_choice(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return {text, "test"};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

void add_foreign(StreamSources& sources, const fs::path& root,
                 const StreamOptions& options) {
  const ImageShape shape = sources.domains[0].images->shape();
  const std::string folder = "folder:";
  if (options.foreign.compare(0, folder.size(), folder) == 0) {
    sources.foreign = open_folder(options.foreign.substr(folder.size()), shape);
    sources.foreign_name = options.foreign;
    return;
  }
  const DatasetChoice choice =
      options.foreign.empty()
          ? first_there(foreign_datasets(sources.name, options.scenario), root)
          : parse_choice(options.foreign);
  sources.foreign = open_foreign(choice, root, shape);
  sources.foreign_name = choice.dataset + ":" + choice.split;
}

}  // namespace

StreamSources open_sources(const std::string& dataset, const fs::path& root,
                           const StreamOptions& options) {
  validate(options);
  if (!options.corruptions.empty())
    fail(ErrorKind::kUnsupported, "corruptions",
         "streams of corrupted images are made from sources put together by "
         "hand");
  StreamSources sources;
  sources.name = dataset;
  sources.domains = {{"clean", open_dataset(dataset, root)}};
  if (options.scenario == "near" || options.scenario == "far")
    add_foreign(sources, root, options);
  return sources;
}

}  // namespace sotta
