#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/stored_zip.h"
#include "data/formats/zip_archive.h"
#include "data/torch/exported_program.h"
#include "fuzz/fuzz_input.h"

namespace sotta {
namespace {

SharedBytes bytes_of(std::string_view text) {
  return borrow_bytes(reinterpret_cast<const std::byte*>(text.data()),
                      text.size());
}

// An archive with right checksums around what the fuzzer makes up: graph,
// description of the weights and one storage, with zeros between them.
std::string archive_of(std::string_view parts) {
  std::vector<std::string_view> contents;
  for (int i = 0; i < 2; ++i) {
    const size_t end = std::min(parts.find('\0'), parts.size());
    contents.push_back(parts.substr(0, end));
    parts.remove_prefix(std::min(end + 1, parts.size()));
  }
  const std::vector<std::pair<std::string, std::string_view>> members = {
      {"m/archive_format", "pt2"},
      {"m/models/model.json", contents[0]},
      {"m/data/weights/model_weights_config.json", contents[1]},
      {"m/data/weights/weight_0", parts},
      {"m/data/constants/model_constants_config.json", R"({"config":{}})"}};
  std::vector<StoredMember> stored;
  for (const auto& [name, text] : members) {
    const SharedBytes content = bytes_of(text);
    stored.push_back(
        {name, content, crc32_of(content.data.get(), content.size)});
  }
  std::string archive;
  for (const SharedBytes& piece : make_stored_zip(stored, "made"))
    archive.append(reinterpret_cast<const char*>(piece.data.get()), piece.size);
  return archive;
}

// Values are used after they are given, tensors lie in their storage.
void check(const ExportedProgram& program) {
  size_t known = program.graph.inputs.size();
  for (const ExportedNode& node : program.graph.nodes) {
    for (const ExportedArgument& argument : node.arguments) {
      if (!argument.is_list && argument.items.size() != 1) __builtin_trap();
      for (const ExportedItem& item : argument.items)
        if (item.kind == ExportedItem::Kind::kValue && item.value >= known)
          __builtin_trap();
    }
    for (const ExportedResult& result : node.results)
      known += result.values.size();
  }
  if (known != program.graph.values || program.graph.output >= known)
    __builtin_trap();
  volatile std::byte sum{};
  for (const auto& [name, tensor] : program.tensors) {
    int64_t last = tensor.offset, count = 1;
    for (size_t i = 0; i < tensor.sizes.size(); ++i) {
      count *= tensor.sizes[i];
      last += (tensor.sizes[i] - 1) * tensor.strides[i];
    }
    if (count == 0) continue;
    const int64_t width = element_size(tensor.type);
    for (const int64_t place : {tensor.offset, last})
      for (int64_t i = 0; i < width; ++i)
        sum = sum ^ tensor.storage.data.get()[place * width + i];
  }
}

}  // namespace
}  // namespace sotta

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  return sotta::expect_only_errors([&] {
    if (input.substr(0, 2) == "PK") {
      sotta::check(
          sotta::parse_exported_program(sotta::borrow(data), size, "input"));
      return;
    }
    const std::string archive = sotta::archive_of(input);
    sotta::check(sotta::parse_exported_program(sotta::bytes_of(archive).data,
                                               archive.size(), "input"));
  });
}
