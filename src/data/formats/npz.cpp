#include "data/formats/npz.h"

#include <algorithm>
#include <string_view>

#include "sotta/core/error.h"

#include "data/formats/mapped_file.h"
#include "data/formats/npy.h"
#include "data/formats/zip_archive.h"

namespace sotta {
namespace {

constexpr std::string_view kSuffix = ".npy";

std::string array_name(const ZipArchive& archive, const std::string& member) {
  const size_t length = member.size() - std::min(member.size(), kSuffix.size());
  if (member.substr(length) != kSuffix)
    fail(ErrorKind::kBadFormat, archive.subject_of(member),
         "expected a name that ends in .npy");
  return member.substr(0, length);
}

}  // namespace

std::map<std::string, Array> parse_npz(
    const std::shared_ptr<const std::byte>& data, size_t size,
    const std::string& subject) {
  const ZipArchive archive({data, size}, subject);
  std::map<std::string, Array> arrays;
  for (const auto& [member, description] : archive.members()) {
    const std::string name = array_name(archive, member);
    const SharedBytes content = archive.read(member);
    arrays[name] =
        parse_npy(content.data, content.size, archive.subject_of(member));
  }
  return arrays;
}

std::map<std::string, Array> read_npz(const std::filesystem::path& path) {
  const SharedBytes file = map_file(path);
  return parse_npz(file.data, file.size, path.string());
}

}  // namespace sotta
