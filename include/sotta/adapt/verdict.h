#pragma once

namespace sotta {

// What a method made of one sample, beside predicting it. Snapshots hold them
// by their place in this list, so new ones come last.
enum class Verdict {
  kAdmitted,       // entered the memory, or was adapted on
  kPending,        // waits for its window to fill
  kNotScreened,    // the method learns from no sample
  kLowConfidence,  // below the confidence threshold
  kClassBalance,   // the memory has enough of its class
  kUnreliable,     // its entropy is above the margin
  kRedundant,      // too like what was adapted on before
  kForeign,    // a screen, the method's own or one in front of it, flagged it
  kGuard,      // was adapted on, but a guard took the update back
  kNotFinite,  // its logits, or others of its window, are no numbers
};

constexpr int kVerdicts = static_cast<int>(Verdict::kNotFinite) + 1;

// "admitted", "low confidence", ...
const char* to_text(Verdict verdict);

}  // namespace sotta
