#pragma once

#include <functional>
#include <string>

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

namespace sotta {

// An operator of exported graphs that we compute ourselves: arithmetic on
// sizes, which Python does where a graph was made; operators that LibTorch 1.13
// does not have; views that rely on a layout in memory; and attention that
// would have no gradient.
struct ExportedSubstitute {
  c10::FunctionSchema schema;
  std::function<void(torch::jit::Stack&)> call;
  bool is_positional = false;    // its arguments are not named by the schema
  bool only_if_missing = false;  // LibTorch's own is better where it exists
};

// Null if there is none for "torch.ops.aten.sym_size.int" or the like.
const ExportedSubstitute* find_substitute(const std::string& target);

}  // namespace sotta
