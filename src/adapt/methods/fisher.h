#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "sotta/engine/executor.h"

namespace sotta {

// How much the source model's predictions depend on each norm parameter, laid
// out as ModelState::affine: the squared gradient of the mean pseudo-label loss
// of a batch, averaged over the batches that `images` are cut into. The
// statistics are each batch's own.
at::Tensor fisher_information(const Executor& executor,
                              const at::Tensor& images, int64_t batch_size);

}  // namespace sotta
