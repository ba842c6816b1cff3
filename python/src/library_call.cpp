#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "bindings.h"

namespace sotta::python {

struct LibraryCall::Settings {
  c10::InferenceMode no_inference_mode{false};
  at::AutoGradMode gradients{true};
  c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

LibraryCall::LibraryCall() : settings_(std::make_unique<Settings>()) {}

LibraryCall::~LibraryCall() = default;

at::Tensor plain(const at::Tensor& images) {
  if (!images.defined()) return images;
  return images.is_inference() ? images.clone() : images.detach();
}

}  // namespace sotta::python
