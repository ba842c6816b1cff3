#include "sotta/record/record_file.h"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sotta/core/error.h"

#include "core/atomic_file.h"
#include "core/inflate.h"
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

std::vector<RunRecord> parse_lines(std::istream& in,
                                   const std::string& subject) {
  std::vector<RunRecord> records;
  std::string line;
  while (std::getline(in, line)) {
    if (in.eof()) break;  // no line end: cut off by a crash
    records.push_back(parse_record(
        line, subject + " line " + std::to_string(records.size() + 1)));
  }
  if (in.bad()) fail(ErrorKind::kIo, subject, "the file cannot be read");
  return records;
}

std::string unpack(std::istream& in, const std::string& subject, size_t most) {
  const std::string packed((std::istreambuf_iterator<char>(in)), {});
  std::string text = inflate_at_most(
      {DeflateFormat::kGzip, reinterpret_cast<const std::byte*>(packed.data()),
       packed.size(), subject},
      most + 1);
  if (text.size() > most)
    fail(ErrorKind::kBadFormat, subject,
         "expected at most " + std::to_string(most) +
             " bytes of records after unpacking, got more");
  return text;
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

std::vector<RunRecord> read_records(const fs::path& file, size_t most) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    fail(ErrorKind::kNotFound, file.string(), "expected a file of records");
  if (file.extension() != ".gz") return parse_lines(in, file.string());
  std::istringstream lines(unpack(in, file.string(), most));
  return parse_lines(lines, file.string());
}

}  // namespace sotta
