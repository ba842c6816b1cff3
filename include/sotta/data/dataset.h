#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

struct ImageShape {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
};

// Images as they lie in files: uint8 [N, C, H, W] on the CPU. Floats are made
// on the device, per batch, by the model.
struct LabelledImages {
  at::Tensor images;  // uint8 [N, C, H, W]
  at::Tensor labels;  // int64 [N]
};

// A fixed, finite set of labelled images, addressed by index.
//
// Const methods may run at once from several threads.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;
  virtual int64_t classes() const = 0;
  virtual ImageShape shape() const = 0;

  // The images at these indices, in this order. Throws Error(kInvalid) for an
  // index outside 0 .. size()-1, Error(kBadFormat) for an unreadable image.
  virtual LabelledImages get(const std::vector<int64_t>& indices) const = 0;

  // The images begin .. end-1.
  virtual LabelledImages range(int64_t begin, int64_t end) const;

  // The labels of all images, int64 [size()]. Reads the images too, unless the
  // dataset knows better.
  virtual at::Tensor labels() const;

 protected:
  // Throws Error(kInvalid) as get() has to.
  void check_indices(const std::vector<int64_t>& indices) const;
};

// A dataset that lies in memory as one tensor.
class TensorDataset : public Dataset {
 public:
  // Throws Error(kInvalid) if shapes, types or counts do not fit together or a
  // label is outside 0 .. classes-1; `name` is named in the message.
  TensorDataset(LabelledImages data, int64_t classes, const std::string& name);

  int64_t size() const override;
  int64_t classes() const override { return classes_; }
  ImageShape shape() const override;
  LabelledImages get(const std::vector<int64_t>& indices) const override;
  LabelledImages range(int64_t begin, int64_t end) const override;  // a view
  at::Tensor labels() const override { return data_.labels; }

 private:
  LabelledImages data_;
  int64_t classes_;
};

// Opens a split of a dataset of the catalogue (catalog.h) from its published
// files under the data root. CIFAR files may hold any whole number of records,
// so that a part of the training set serves as well.
//
// Throws Error: kInvalid for an unknown name or split, kNotFound for a missing
// file and kBadFormat for a damaged one, naming the file, what was expected and
// where it comes from; kUnsupported for datasets that are only listed.
std::unique_ptr<Dataset> open_dataset(const std::string& name,
                                      const std::filesystem::path& root,
                                      const std::string& split = "test");

}  // namespace sotta
