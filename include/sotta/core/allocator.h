#pragma once

namespace sotta {

// Makes the C library hand large blocks, such as activations, back to the
// system as soon as they are freed. By default it keeps them in a heap that
// tensors of many sizes soon fragment; a SoTTA window's peak falls by a third
// at the same speed. For programs to call at their start: it changes the whole
// process, so the library never does it by itself. Does nothing without glibc.
void return_freed_memory();

}  // namespace sotta
