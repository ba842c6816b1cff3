#pragma once

#include <memory>

#include "sotta/core/rng.h"
#include "sotta/data/dataset.h"

namespace sotta {

// Images that no screen was made for, each from `rng` and its index alone, made
// when they are read.

// One colour over the whole image, each of its bytes drawn evenly.
std::shared_ptr<const Dataset> blank_images(const Rng& rng,
                                            const ImageShape& shape);

// Negatives: 255 less every byte.
std::shared_ptr<const Dataset> inverted_images(
    const Rng& rng, std::shared_ptr<const Dataset> target);

// Cut in 4 x 4 equal pieces, which change places at random. What is left over
// at the right and at the bottom stays. Throws Error(kInvalid) for images with
// a side below 4.
std::shared_ptr<const Dataset> shuffled_images(
    const Rng& rng, std::shared_ptr<const Dataset> target);

}  // namespace sotta
