#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sotta/data/array.h"
#include "sotta/data/dataset.h"

namespace sotta {

// How images of any size become images of one size.
struct ImageFolderOptions {
  // The size of the images that come out.
  int64_t height = 224;
  int64_t width = 224;

  // First resize the shorter side to this, then crop the middle; at least
  // height and width. 0 resizes straight to height x width, ratio or not. The
  // default is what ImageNet models are evaluated with.
  int64_t shorter_side = 256;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("height", height, "height of the images that come out");
    v("width", width, "width of the images that come out");
    v("shorter_side", shorter_side, "resize to this, then crop; 0: no crop");
  }
};

// A folder with one folder per class, as ImageNet is published: the names of
// the class folders in sorted order give the classes 0, 1, ..., and the JPEG
// and PNG files below each, sorted by path, its images. Files with other
// endings and names that begin with a dot are passed over.
//
// Tiny ImageNet's validation folder, which names the class of every file in
// images/ in a list, val_annotations.txt, is read by that list.
//
// Images are decoded when asked for, on all of LibTorch's threads.
class ImageFolder : public Dataset {
 public:
  // Throws Error: kNotFound if there is no such folder, kBadFormat if it holds
  // no class folders, one of them holds no images, its links lead back to
  // itself or its list is damaged; kInvalid for impossible options.
  explicit ImageFolder(const std::filesystem::path& folder,
                       const ImageFolderOptions& options = {});

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  int64_t classes() const override {
    return static_cast<int64_t>(class_names_.size());
  }
  ImageShape shape() const override {
    return {3, options_.height, options_.width};
  }
  LabelledImages get(const std::vector<int64_t>& indices) const override;
  at::Tensor labels() const override;

  const std::vector<std::string>& class_names() const { return class_names_; }

 private:
  struct File {
    std::filesystem::path path;
    int64_t label;
  };

  void add_class_folders(const std::filesystem::path& folder);
  void add_listed_files(const std::filesystem::path& folder,
                        const std::filesystem::path& list);
  Array load(const File& file) const;

  ImageFolderOptions options_;
  std::vector<std::string> class_names_;
  std::vector<File> files_;
};

}  // namespace sotta
