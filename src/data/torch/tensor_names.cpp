#include "data/torch/tensor_names.h"

#include <algorithm>
#include <utility>

#include "sotta/core/error.h"

#include "data/formats/printable.h"

namespace sotta {
namespace {

bool begins_with(const std::string& name, const std::string& prefix) {
  return name.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

bool all_begin_with(const std::map<std::string, Array>& tensors,
                    const std::string& prefix) {
  return !tensors.empty() &&
         std::all_of(tensors.begin(), tensors.end(), [&](const auto& tensor) {
           return begins_with(tensor.first, prefix);
         });
}

void strip_prefix(std::map<std::string, Array>& tensors,
                  const std::string& prefix, const std::string& subject) {
  std::map<std::string, Array> renamed;
  bool any = false;
  for (auto& [name, array] : tensors) {
    const bool strips = begins_with(name, prefix);
    any |= strips;
    const std::string rest = strips ? name.substr(prefix.size()) : name;
    if (!renamed.emplace(rest, std::move(array)).second)
      fail(ErrorKind::kInvalid, subject,
           "without the prefix " + printable(prefix) +
               " two tensors are named " + printable(rest));
  }
  if (!any)
    fail(ErrorKind::kInvalid, subject,
         "no tensor's name begins with " + printable(prefix));
  tensors = std::move(renamed);
}

}  // namespace sotta
