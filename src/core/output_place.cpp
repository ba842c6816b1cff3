#include "core/output_place.h"

#include <system_error>

#include "sotta/core/error.h"

#include "core/atomic_file.h"

namespace sotta {

void make_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    fail(ErrorKind::kIo, folder.string(),
         "the folder cannot be made: " + problem.message());
}

void check_writable(const std::filesystem::path& file) {
  std::error_code ignored;  // the trial says it better
  if (std::filesystem::is_directory(file, ignored))
    fail(ErrorKind::kIo, file.string(),
         "cannot be written: a folder has this name");
  const AtomicFile trial(file);  // leaves nothing behind
}

void fail_to_write(const std::filesystem::path& file, int code) {
  fail(ErrorKind::kIo, file.string(),
       "cannot be written: " + std::generic_category().message(code));
}

}  // namespace sotta
