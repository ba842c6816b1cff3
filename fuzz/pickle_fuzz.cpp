#include <cstdlib>

#include "data/torch/pickle.h"
#include "fuzz/fuzz_input.h"

// Every reference in the table must lead into it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sotta::expect_only_errors([&] {
    static const std::vector<std::string_view> globals = {
        "collections.OrderedDict", "torch.Size", "torch.FloatStorage",
        "torch.LongStorage", "torch._utils._rebuild_tensor_v2"};
    const sotta::Pickle pickle = sotta::parse_pickle(
        reinterpret_cast<const std::byte*>(data), size, {"input", &globals});
    if (pickle.root >= pickle.values.size() || pickle.size > size) std::abort();
    for (const auto& value : pickle.values)
      for (const auto item : value.items)
        if (item >= pickle.values.size()) std::abort();
  });
}
