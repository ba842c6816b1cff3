#pragma once

#include <array>

#include <ATen/core/Tensor.h>

#include "corrupt/frost/frost_recipe.h"

namespace sotta {

// Pictures that take the place of the five photographs of frost, which may not
// be passed on: same size, colours, spectrum and distribution of values, and
// nearly the same statistics of small crops. The seed is fixed: every process
// has the same pictures.

// Made at the first call, which takes about a second on two cores, and kept.
// uint8 [H, W, 3]; may be called from several threads.
const std::array<at::Tensor, kFrostRecipes>& procedural_frost();

// One picture by its recipe, always made anew.
at::Tensor make_frost_texture(const FrostRecipe& recipe);

}  // namespace sotta
