#pragma once

namespace sotta::cli {

// To be called first. A standard stream that the caller closed is opened on
// /dev/null, so that no file of ours gets its number: reading a closed input
// and writing to a closed output still fail. A reader that goes away is an
// error of the next write, not the end of the program.
void prepare_standard_streams();

// Throws Error(kIo) if something that was printed to standard output did not
// get out.
void flush_output();

}  // namespace sotta::cli
