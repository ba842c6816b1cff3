#include "gpu/out_of_memory.h"

#include <new>

#include <c10/util/Exception.h>

#include "sotta/core/error.h"

namespace sotta {

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) ||
      dynamic_cast<const std::bad_alloc*>(&error))
    return true;
  // Only the GPU's allocator has a type of its own; cuDNN, cuBLAS and the CPU's
  // allocator say it in words.
  const std::string text = error.what();
  for (const char* sign : {"out of memory", "ALLOC_FAILED",
                           "can't allocate memory", "not enough memory"})
    if (text.find(sign) != std::string::npos) return true;
  return false;
}

void explain_out_of_memory(const std::string& advice,
                           const std::function<void()>& work) {
  try {
    work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    fail(ErrorKind::kInvalid, "memory",
         "the device has too little for this run, " + advice);
  }
}

}  // namespace sotta
