#pragma once

#include <exception>
#include <functional>
#include <string>

namespace sotta {

// Whether LibTorch, one of its libraries or the system says with this that
// memory ran out, on a GPU or of the machine.
bool is_out_of_memory(const std::exception& error);

// Runs `work`. If memory runs out in it, throws Error(kInvalid) of one sentence
// that ends in `advice` ("a smaller --batch needs less") in place of LibTorch's
// report; other exceptions pass.
void explain_out_of_memory(const std::string& advice,
                           const std::function<void()>& work);

}  // namespace sotta
