#include "process.h"

#include <cstdlib>

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <torch/version.h>

#include "sotta/core/threads.h"

namespace sotta::cli {

std::filesystem::path data_root(const std::string& flag) {
  if (!flag.empty()) return flag;
  const char* variable = std::getenv("SOTTA_DATA");
  return variable != nullptr && *variable != '\0' ? variable : "data";
}

int64_t use_threads(int64_t threads) {
  require_threads("--threads", threads, 0);
  if (threads == 0) threads = available_cores();
  at::set_num_threads(static_cast<int>(threads));
  use_blas_threads(threads);
  return threads;
}

void use_blas_threads(int64_t threads) {
  using Setter = void (*)(int);
  const auto set =
      reinterpret_cast<Setter>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (set != nullptr) set(static_cast<int>(threads));
}

std::string libtorch_version() {
  return TORCH_VERSION;
}

}  // namespace sotta::cli
