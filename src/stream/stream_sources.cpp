#include "sotta/stream/stream_sources.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "sotta/core/options.h"
#include "sotta/data/dataset.h"
#include "sotta/stream/scenario.h"

#include "corrupt/corrupted_dataset.h"
#include "data/sets/catalog.h"
#include "data/sets/dataset_files.h"
#include "data/sets/image_folder.h"
#include "stream/cached_dataset.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClean = "clean";

// A corrupted set up to this size is made once and kept.
constexpr int64_t kMostBytesKept = int64_t{1} << 30;

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

// Opens the domains of a dataset; the clean images once and only if needed.
class DomainOpener {
 public:
  DomainOpener(std::string dataset, fs::path root, const StreamOptions& options)
      : dataset_(std::move(dataset)),
        root_(std::move(root)),
        options_(options) {}

  // Of images of one's own, which nobody has published corrupted.
  DomainOpener(std::shared_ptr<const Dataset> clean,
               const StreamOptions& options)
      : options_(options), clean_(std::move(clean)), has_published_(false) {}

  StreamDomain open(const std::string& name) {
    if (name == kClean) return {name, clean()};
    CorruptionOptions corruption;
    corruption.kind = name;
    corruption.severity = options_.severity;
    corruption.seed = options_.corruption_seed;
    corruption.frost_dir = options_.frost_dir;
    StreamDomain domain{name + "-" + std::to_string(options_.severity), {}};
    if (has_published_)
      domain.images =
          open_published_corruption(dataset_, root_, name, options_.severity);
    domain.source = domain.images ? "published" : "made";
    if (!domain.images) domain.images = made(corruption);
    return domain;
  }

 private:
  std::shared_ptr<const Dataset> clean() {
    if (!clean_) clean_ = open_dataset(dataset_, root_);
    return clean_;
  }

  std::shared_ptr<const Dataset> made(const CorruptionOptions& corruption) {
    auto images = std::make_shared<CorruptedDataset>(clean(), corruption);
    const ImageShape each = images->shape();
    const int64_t bytes =
        images->size() * each.channels * each.height * each.width;
    if (bytes > kMostBytesKept) return images;
    return std::make_shared<CachedDataset>(std::move(images));
  }

  std::string dataset_;
  fs::path root_;
  const StreamOptions& options_;
  std::shared_ptr<const Dataset> clean_;
  bool has_published_ = true;
};

}  // namespace

std::vector<std::string> parse_corruptions(const std::string& text) {
  if (text.empty()) return {kClean};
  if (text == "all") return common_corruption_names();
  auto known = corruption_names();
  known.push_back(kClean);
  std::vector<std::string> names;
  std::istringstream list(text + ",");
  for (std::string name; std::getline(list, name, ',');) {
    require_one_of("corruptions", name, known);
    names.push_back(name);
  }
  return names;
}

StreamSources open_sources(const std::string& dataset, const fs::path& root,
                           const StreamOptions& options) {
  validate(options);
  StreamSources sources;
  sources.name = dataset;
  DomainOpener domains(dataset, root, options);
  for (const std::string& name : parse_corruptions(options.corruptions))
    sources.domains.push_back(domains.open(name));
  if (find_scenario(options.scenario).takes_dataset())
    add_foreign(sources, root, options);
  return sources;
}

StreamSources make_sources(const std::string& name,
                           std::shared_ptr<const Dataset> images,
                           std::shared_ptr<const Dataset> foreign,
                           const StreamOptions& options) {
  validate(options);
  StreamSources sources;
  sources.name = name;
  DomainOpener domains(std::move(images), options);
  for (const std::string& corruption : parse_corruptions(options.corruptions))
    sources.domains.push_back(domains.open(corruption));
  sources.foreign = std::move(foreign);
  sources.foreign_name = sources.foreign ? name + ":foreign" : "";
  return sources;
}

}  // namespace sotta
