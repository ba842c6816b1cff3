#pragma once

#include <string>

#include "serve/streams/served_stream.h"

namespace sotta {

// Why a person should look at a stream.
struct Trouble {
  double rank = 0;     // the more, the sooner; 0 if there is none
  std::string reason;  // "guard tripped"; empty if there is none
};

// The gravest trouble: its files are damaged, the disk refuses it, it is
// frozen, a guard tripped in the windows on record, a snapshot was found
// damaged, or fewer images are admitted or confidence is lower than before (by
// a twentieth at least).
Trouble find_trouble(const StreamStatus& status);

}  // namespace sotta
