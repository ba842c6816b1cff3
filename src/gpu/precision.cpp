#include "sotta/gpu/precision.h"

#include "sotta/core/error.h"

namespace sotta {

Precision parse_precision(const std::string& text) {
  for (const Precision precision :
       {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16})
    if (text == to_text(precision)) return precision;
  fail(ErrorKind::kInvalid, "precision",
       "expected fp32, tf32 or bf16, got \"" + text + "\"");
}

const char* to_text(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kBfloat16:
      return "bf16";
  }
  return "unknown";
}

void check_precision(Precision precision, at::Device device) {
  if (precision == Precision::kTf32 && !device.is_cuda())
    fail(ErrorKind::kUnsupported, "precision",
         "tf32 is a format of GPUs, got device " + device.str());
}

}  // namespace sotta
