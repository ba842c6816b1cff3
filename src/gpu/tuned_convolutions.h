#pragma once

namespace sotta {

// As long as one lives, a GPU's library tries a few ways to compute each
// convolution that a thread brings for the first time, and keeps the fastest:
// for work of one shape that goes on for long. To try takes a second or so per
// thread, more in a process's first; which way wins may change from process to
// process, and with it the last bits. Changes nothing on other devices.
//
// Holds for the whole process: one at a time.
class TunedConvolutions {
 public:
  TunedConvolutions();
  ~TunedConvolutions();
  TunedConvolutions(const TunedConvolutions&) = delete;
  TunedConvolutions& operator=(const TunedConvolutions&) = delete;

 private:
  bool before_;
  int limit_before_;
};

}  // namespace sotta
