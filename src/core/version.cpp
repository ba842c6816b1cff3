#include "sotta/core/version.h"

namespace sotta {

const char* version() {
  return SOTTA_VERSION;
}

}  // namespace sotta
