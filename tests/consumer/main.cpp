#include <iostream>

#include <ATen/ops/ones.h>
#include <sotta/core/error.h>
#include <sotta/core/version.h>
#include <sotta/data/dataset.h>

// Exits with 0 when the installed library links, runs and throws its own error
// over the border between library and program.
int main() {
  const sotta::LabelledImages data{at::ones({2, 3, 4, 4}, at::kByte),
                                   at::ones({2}, at::kLong)};
  const sotta::TensorDataset dataset(data, 2, "ones");
  std::cout << "sotta " << sotta::version() << ", " << dataset.size()
            << " images\n";
  try {
    dataset.get({2});
  } catch (const sotta::Error& error) {
    std::cout << error.what() << "\n";
    return error.kind() == sotta::ErrorKind::kInvalid ? 0 : 1;
  }
  return 1;
}
