#include "eval/accuracy_note.h"

#include <cstdio>

namespace sotta {

std::string accuracy_note(double accuracy) {
  char text[32];
  std::snprintf(text, sizeof text, "accuracy %.2f %%", accuracy);
  return text;
}

}  // namespace sotta
