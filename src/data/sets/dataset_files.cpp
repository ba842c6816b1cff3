#include "data/sets/dataset_files.h"

#include <system_error>

#include "sotta/core/error.h"

#include "core/inflate.h"
#include "data/formats/mapped_file.h"
#include "data/formats/npy.h"
#include "data/formats/sha1.h"
#include "data/sets/image_folder.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

// A link that leads nowhere counts: reading it will say what is wrong.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

std::string differs(const std::string& expected, const std::string& found) {
  return "expected " + expected + " as published, found " + found;
}

std::string compare(const char* unit, int64_t expected, int64_t found) {
  if (expected == found) return "";
  return differs(std::to_string(expected) + " " + unit, std::to_string(found));
}

// The content of a compressed file, which must have the size we expect: a
// file that claims or unpacks to anything else is not the published one.
SharedBytes unpack(const SharedBytes& file, int64_t size,
                   const std::string& subject) {
  const auto bytes = static_cast<size_t>(size);
  if (bytes > most_inflated_bytes(file.size))
    fail(ErrorKind::kBadFormat, subject, "the file is truncated");
  auto [array, memory] = allocate_array(ElementType::kUint8, {size});
  inflate_exactly({DeflateFormat::kGzip, file.data.get(), file.size, subject},
                  memory, bytes);
  return {array.data, bytes};
}

std::string problem_of_bytes(const DatasetFile& file, const fs::path& path) {
  SharedBytes bytes = map_file(path);
  if (is_gzip(bytes.data.get(), bytes.size))
    bytes = unpack(bytes, file.size, path.string());
  const auto size = static_cast<int64_t>(bytes.size);
  if (size != file.size || file.sha1.empty())
    return compare("bytes", file.size, size);
  Sha1 sum;
  sum.update(bytes.data.get(), bytes.size);
  const std::string found = sum.finish();
  return found == file.sha1 ? "" : differs("SHA-1 " + file.sha1, found);
}

std::string problem_of_array(const DatasetFile& file, const fs::path& path) {
  return compare("elements", file.size, read_npy(path).count());
}

std::string problem_of_folders(const DatasetEntry& entry,
                               const DatasetFile& file, const fs::path& path) {
  const ImageFolder images(path);
  const std::string problem =
      compare("classes", entry.classes, images.classes());
  return problem.empty() ? compare("images", file.size, images.size())
                         : problem;
}

std::string problem_of(const DatasetEntry& entry, const DatasetFile& file,
                       const fs::path& path) {
  switch (entry.layout) {
    case DatasetLayout::kFolders:
      return problem_of_folders(entry, file, path);
    case DatasetLayout::kNpy:
      return problem_of_array(file, path);
    default:
      return problem_of_bytes(file, path);
  }
}

// Messages begin with the file's name, which the report gives already.
std::string without_subject(std::string message, const fs::path& path) {
  const std::string subject = path.string() + ": ";
  if (message.rfind(subject, 0) == 0) message.erase(0, subject.size());
  return message;
}

}  // namespace

fs::path locate(const DatasetEntry& entry, const DatasetFile& file,
                const fs::path& root) {
  std::vector<fs::path> places = {root / file.path};
  if (!entry.system_folder.empty())
    places.push_back(fs::path(entry.system_folder) /
                     fs::path(file.path).filename());
  for (const fs::path& place : places) {
    if (is_there(place)) return place;
    if (entry.layout != DatasetLayout::kIdx) continue;
    const fs::path compressed = place.string() + ".gz";
    if (is_there(compressed)) return compressed;
  }
  return {};
}

fs::path expected_path(const DatasetEntry& entry, const DatasetFile& file,
                       const fs::path& root) {
  const bool compressed = entry.layout == DatasetLayout::kIdx;
  return root / (file.path + (compressed ? ".gz" : ""));
}

FileCheck check_file(const DatasetEntry& entry, const DatasetFile& file,
                     const fs::path& root) {
  const fs::path path = locate(entry, file, root);
  if (path.empty())
    return {FileState::kMissing, expected_path(entry, file, root), "not found"};
  try {
    const std::string problem = problem_of(entry, file, path);
    return {problem.empty() ? FileState::kOk : FileState::kDamaged, path,
            problem};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported) throw;
    return {FileState::kDamaged, path, without_subject(error.what(), path)};
  }
}

std::string origin_hint(const DatasetEntry& entry) {
  const std::string origin = "it comes from " + entry.origin;
  if (!entry.gettable) return origin;
  return "`sotta data get " + entry.name + "` brings it; " + origin;
}

}  // namespace sotta
