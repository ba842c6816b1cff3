#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include "sotta/data/safetensors.h"

#include "data/tensor.h"
#include "tests/support/golden_dir.h"

namespace sotta::testing {

// A file of expected values under tests/golden, see its README.
class Golden {
 public:
  explicit Golden(const std::string& name)
      : file_(read_safetensors(std::string(golden_dir()) + "/" + name +
                               ".safetensors")) {}

  at::Tensor operator[](const std::string& name) const {
    return to_tensor(file_.tensors.at(name)).clone();
  }
  bool has(const std::string& name) const { return file_.tensors.count(name); }
  const std::string& metadata(const std::string& name) const {
    return file_.metadata.at(name);
  }
  const TensorFile& file() const { return file_; }

 private:
  TensorFile file_;
};

// Succeeds if both have the same shape and differ by at most
// absolute + relative * |expected| everywhere; else says by how much.
inline ::testing::AssertionResult close(const at::Tensor& found,
                                        const at::Tensor& expected,
                                        double absolute = 1e-6,
                                        double relative = 1e-5) {
  if (found.sizes() != expected.sizes())
    return ::testing::AssertionFailure()
           << "expected shape " << expected.sizes() << ", got "
           << found.sizes();
  if (found.allclose(expected, relative, absolute))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "largest difference "
         << found.sub(expected).abs().max().item<double>() << ", allowed "
         << absolute << " + " << relative << " * |expected|";
}

}  // namespace sotta::testing
