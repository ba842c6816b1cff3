#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace sotta::cli {

// Where datasets lie: the flag's value, else the environment's SOTTA_DATA, else
// "data" in the current folder.
std::filesystem::path data_root(const std::string& flag);

// Lets LibTorch use that many threads; 0 means all cores this process may run
// on. LibTorch's own default leaves half of them idle on small machines.
// Throws Error(kInvalid) for more than most_threads(). Returns the number in
// use.
int64_t use_threads(int64_t threads);

// OpenBLAS, where LibTorch multiplies matrices with it, has threads of its own
// and is not told how many by LibTorch. use_threads() lets it use as many.
// Where its products are small, one is better: the others are waited for
// without sleeping.
void use_blas_threads(int64_t threads);

// "1.13.1", as the headers say.
std::string libtorch_version();

}  // namespace sotta::cli
