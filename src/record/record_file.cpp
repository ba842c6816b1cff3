#include "sotta/record/record_file.h"

#include <cerrno>
#include <fstream>

#include "sotta/core/error.h"

#include "core/atomic_file.h"
#include "core/output_place.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

// The length up to and including the last line's end.
int64_t complete_length(const fs::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return 0;
  for (auto length = static_cast<int64_t>(in.tellg()); length > 0; --length) {
    in.seekg(length - 1);
    if (in.get() == '\n') return length;
  }
  return 0;
}

// A crash may have left half a line at the end.
void cut_half_line(const fs::path& file) {
  std::error_code problem;
  if (!fs::is_regular_file(file, problem)) return;
  const auto complete = static_cast<uintmax_t>(complete_length(file));
  if (complete == fs::file_size(file, problem)) return;
  fs::resize_file(file, complete, problem);
  if (problem) fail_to_write(file, problem.value());
}

}  // namespace

void append_record(const fs::path& file, const RunRecord& record) {
  make_folder(file.parent_path());
  cut_half_line(file);
  std::ofstream out(file, std::ios::binary | std::ios::app);
  if (!out) fail_to_write(file, errno);
  const std::string line = to_json(record) + "\n";
  out.write(line.data(), static_cast<std::streamsize>(line.size()));
  out.flush();
  if (!out) fail_to_write(file, errno);
  sync_file(file);
}

std::vector<RunRecord> read_records(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    fail(ErrorKind::kNotFound, file.string(), "expected a file of records");
  std::vector<RunRecord> records;
  std::string line;
  while (std::getline(in, line)) {
    if (in.eof()) break;  // no line end: cut off by a crash
    records.push_back(parse_record(
        line, file.string() + " line " + std::to_string(records.size() + 1)));
  }
  return records;
}

}  // namespace sotta
