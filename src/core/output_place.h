#pragma once

#include <filesystem>

namespace sotta {

// For asking before long work whether its result can be written. All throw
// Error(kIo) with the system's reason.

// Makes the folder and those above it, if they are not there; the empty path is
// the current one.
void make_folder(const std::filesystem::path& folder);

// Whether a file of this name could be written now. Its folder must be there;
// a file that is there stays as it is.
void check_writable(const std::filesystem::path& file);

// What every writer says when the system refuses; `code` is an errno.
[[noreturn]] void fail_to_write(const std::filesystem::path& file, int code);

}  // namespace sotta
