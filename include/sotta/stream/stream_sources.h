#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sotta/data/dataset.h"
#include "sotta/stream/stream_options.h"

namespace sotta {

// The target images under one condition.
struct StreamDomain {
  std::string name;  // "clean", or a corruption and severity: "fog-5"
  std::shared_ptr<const Dataset> images;

  // Of corrupted images: "published" or "made", for the record.
  std::string source = {};
};

// The image sets that streams are made of. Several streams may share one.
struct StreamSources {
  std::string name;  // of the target dataset

  // At least one; all with the same images in the same order.
  std::vector<StreamDomain> domains;

  // For scenarios that take one. Any dataset will do: its images are
  // brought to the target's size and channels when they are read.
  std::shared_ptr<const Dataset> foreign;
  std::string foreign_name;  // "cifar100:train"
};

// The names in StreamOptions::corruptions: "all" gives the fifteen, no text
// gives "clean". Throws Error(kInvalid) for an unknown one.
std::vector<std::string> parse_corruptions(const std::string& text);

// Opens what a stream with these options needs: the evaluation split of a
// dataset of the catalogue under the data root, a domain per corruption, and
// the scenario's foreign set, of several allowed ones the first that is there.
// Foreign image folders are resized without regard to ratio, as the paper does.
//
// Corrupted images are the published ones where they lie under the data root;
// else each is made when it is first read, and then kept if all of them fit in
// 1 GB.
//
// Throws what open_dataset() and Corruption throw, and Error(kInvalid) for bad
// options.
StreamSources open_sources(const std::string& dataset,
                           const std::filesystem::path& root,
                           const StreamOptions& options);

// The same of images that are there already; `foreign` (may be none) serves the
// scenarios that take a dataset.
StreamSources make_sources(const std::string& name,
                           std::shared_ptr<const Dataset> images,
                           std::shared_ptr<const Dataset> foreign,
                           const StreamOptions& options);

}  // namespace sotta
