#include "models/exported/exported.h"

#include "sotta/core/error.h"

#include "data/torch/exported_program.h"
#include "models/exported/exported_graph.h"
#include "models/graph_classifier.h"

namespace sotta {
namespace {

GraphOrigin origin_of(const std::string& subject) {
  return {subject, "torch.export", "exported"};
}

std::unique_ptr<Classifier> make_network(const ExportedProgram& program,
                                         const LoadOptions& options,
                                         const std::string& subject) try {
  const ExportedNetwork network =
      lift_exported(program, options.device, subject);
  return make_graph_classifier(network, network.run, origin_of(subject),
                               options);
} catch (const Error&) {
  throw;
} catch (const std::exception& error) {
  fail_to_adapt(subject, error);
}

}  // namespace

std::unique_ptr<Classifier> load_exported(const std::filesystem::path& file,
                                          const LoadOptions& options) {
  check_graph_options(options, origin_of(file.string()));
  return make_network(read_exported_program(file), options, file.string());
}

std::unique_ptr<Classifier> parse_exported(std::string_view bytes,
                                           const LoadOptions& options,
                                           const std::string& subject) {
  check_graph_options(options, origin_of(subject));
  // Not owned: tensors are copied before this returns.
  const std::shared_ptr<const std::byte> data(
      reinterpret_cast<const std::byte*>(bytes.data()), [](const auto*) {});
  return make_network(parse_exported_program(data, bytes.size(), subject),
                      options, subject);
}

}  // namespace sotta
