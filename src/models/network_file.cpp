#include "models/network_file.h"

#include <fstream>
#include <string>

#include "models/exported/exported.h"
#include "models/torchscript.h"

namespace sotta {

const char* name_of(NetworkFormat format) {
  switch (format) {
    case NetworkFormat::kSafetensors:
      break;
    case NetworkFormat::kTorchScript:
      return "torchscript";
    case NetworkFormat::kExported:
      return "exported";
  }
  return "safetensors";
}

NetworkFormat network_format(const std::filesystem::path& file) {
  std::error_code ignored;
  // Opening a named pipe would wait for a writer.
  if (!std::filesystem::is_regular_file(file, ignored))
    return NetworkFormat::kSafetensors;
  std::ifstream stream(file, std::ios::binary);
  char magic[2] = {};
  stream.read(magic, sizeof magic);
  if (!stream || magic[0] != 'P' || magic[1] != 'K')
    return NetworkFormat::kSafetensors;
  // Zip files name their entries a second time at their end. Checkpoints and
  // TorchScript files differ by the entry that says where constants lie.
  const auto size = std::filesystem::file_size(file, ignored);
  constexpr std::uintmax_t kTail = 1 << 20;
  stream.seekg(static_cast<std::streamoff>(size > kTail ? size - kTail : 0));
  const std::string tail((std::istreambuf_iterator<char>(stream)), {});
  for (const char* name :
       {"serialized_exported_program.json", "archive_format"})
    if (tail.find(name) != std::string::npos) return NetworkFormat::kExported;
  return tail.find("/constants.pkl") != std::string::npos
             ? NetworkFormat::kTorchScript
             : NetworkFormat::kSafetensors;
}

bool brings_network(const std::filesystem::path& file) {
  return network_format(file) != NetworkFormat::kSafetensors;
}

std::unique_ptr<Classifier> load_network_file(const std::filesystem::path& file,
                                              const LoadOptions& options) {
  return network_format(file) == NetworkFormat::kExported
             ? load_exported(file, options)
             : load_torchscript(file, options);
}

}  // namespace sotta
