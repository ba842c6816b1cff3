#include "sotta/adapt/verdict.h"

namespace sotta {

const char* to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAdmitted:
      return "admitted";
    case Verdict::kPending:
      return "pending";
    case Verdict::kNotScreened:
      return "not screened";
    case Verdict::kLowConfidence:
      return "low confidence";
    case Verdict::kClassBalance:
      return "class balance";
    case Verdict::kUnreliable:
      return "unreliable";
    case Verdict::kRedundant:
      return "redundant";
    case Verdict::kForeign:
      return "foreign";
    case Verdict::kGuard:
      return "guard";
    case Verdict::kNotFinite:
      return "not finite";
  }
  return "unknown";
}

}  // namespace sotta
