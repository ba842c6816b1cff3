#include "sotta/record/record_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "sotta/core/error.h"

#include "core/atomic_file.h"
#include "core/inflate.h"
#include "core/output_place.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_as_no_records(const fs::path& file) {
  fail(ErrorKind::kBadFormat, file.string(),
       "is no file of records and stays as it is; choose another name");
}

[[noreturn]] void fail_to_read(const fs::path& file) {
  fail(ErrorKind::kIo, file.string(), "the file cannot be read");
}

bool is_regular(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored);
}

// The length up to and including the last line's end.
int64_t complete_length(const fs::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) fail_to_read(file);
  for (auto length = static_cast<int64_t>(in.tellg()); length > 0; --length) {
    in.seekg(length - 1);
    const int last = in.get();
    if (!in) fail_to_read(file);  // nothing is cut off that was not seen
    if (last == '\n') return length;
  }
  return 0;
}

bool is_record(const std::string& line) {
  try {
    parse_record(line, "");
  } catch (const Error&) {
    return false;
  }
  return true;
}

// The beginning of a record, or the zeros that a power cut leaves in its place.
bool is_cut_record(const std::string& rest) {
  static const std::string kBeginning = "{\"format\":";
  if (rest.find_first_not_of('\0') == std::string::npos) return true;
  const size_t size = std::min(rest.size(), kBeginning.size());
  if (rest.compare(0, size, kBeginning, 0, size) != 0) return false;
  if (rest.size() > size && (rest[size] < '0' || rest[size] > '9'))
    return false;
  return !nlohmann::json::accept(rest);
}

// A last line without its end, which a crash or an editor may have left.
struct OpenLine {
  uintmax_t begin;
  bool is_record;  // and not the beginning of one
};

// Other people's files have such an end too: one that is neither is refused.
std::optional<OpenLine> open_line(const fs::path& file) {
  if (!is_regular(file)) return std::nullopt;
  const auto begin = static_cast<uintmax_t>(complete_length(file));
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(begin));
  const std::string rest((std::istreambuf_iterator<char>(in)), {});
  // A line that has an end was appended by another process meanwhile.
  if (rest.empty() || rest.find('\n') != std::string::npos) return std::nullopt;
  const OpenLine line{begin, is_record(rest)};
  if (!line.is_record && !is_cut_record(rest)) fail_as_no_records(file);
  return line;
}

// Has the next line begin a line: cuts off half a record, and gives the end
// that a whole one lacks.
std::string finish_last_line(const fs::path& file) {
  const auto line = open_line(file);
  if (!line) return "";
  if (line->is_record) return "\n";
  std::error_code problem;
  fs::resize_file(file, line->begin, problem);
  if (problem) fail_to_write(file, problem.value());
  return "";
}

std::vector<RunRecord> parse_lines(std::istream& in,
                                   const std::string& subject) {
  std::vector<RunRecord> records;
  std::string line;
  while (std::getline(in, line)) {
    if (in.eof() && !is_record(line)) break;  // cut off by a crash
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

void check_appendable(const fs::path& file) {
  require(file.extension() != ".gz", file.string(),
          "records are appended as plain lines; choose a name without .gz");
  make_folder(file.parent_path());
  std::error_code ignored;
  if (fs::is_symlink(file, ignored) && !fs::exists(file, ignored))
    fail_to_write(file, ENOENT);  // what it leads to may have no folder
  if (!fs::exists(file, ignored) || fs::is_directory(file, ignored))
    return check_writable(file);
  if (::access(file.c_str(), W_OK) != 0) fail_to_write(file, errno);
  if (!is_regular(file)) return;
  if (::access(file.c_str(), R_OK) != 0) fail_to_read(file);
  std::ifstream in(file, std::ios::binary);
  std::string line;
  if (std::getline(in, line) && !in.eof()) {
    try {
      parse_record(line, file.string() + " line 1");
    } catch (const Error&) {
      if (line.rfind('{', 0) == 0) throw;  // says what is wrong with a record
      fail_as_no_records(file);
    }
  }
  open_line(file);
}

void append_record(const fs::path& file, const RunRecord& record) {
  make_folder(file.parent_path());
  const std::string line = finish_last_line(file) + to_json(record) + "\n";
  std::ofstream out(file, std::ios::binary | std::ios::app);
  if (!out) fail_to_write(file, errno);
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
