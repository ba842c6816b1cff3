#pragma once

namespace sotta {

// Makes the C library keep freed memory for the next tensors instead of handing
// it back to the system, which has to clear it again page by page: a tenth of
// the time of a SoTTA window. The peak stays as it is, or falls; what a process
// holds in quiet times is its peak. For programs to call at their start: it
// changes the whole process, so the library never does it by itself. Does
// nothing without glibc.
void keep_freed_memory();

}  // namespace sotta
