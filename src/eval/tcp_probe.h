#pragma once

#include <cstdint>
#include <string>

namespace sotta {

// Looks at a place before LibTorch's store is let loose on it: what it finds
// wrong there it writes to standard error, line after line.

// Waits until something listens there, at most so many seconds. False if
// nothing came, or the name leads nowhere.
bool wait_for_listener(const std::string& address, int64_t port,
                       double seconds);

// Whether a program on this machine can open the port and be reached at the
// address.
bool can_listen(const std::string& address, int64_t port);

}  // namespace sotta
