#include "models/torchscript.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/serialization/import.h>

#include "sotta/core/error.h"

#include "data/torch/torchscript_archive.h"
#include "gpu/out_of_memory.h"
#include "models/graph_classifier.h"
#include "models/torchscript_graph.h"

namespace sotta {
namespace {

// An archive in pieces, as LibTorch reads files.
class Pieces : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit Pieces(std::vector<Array> pieces) : pieces_(std::move(pieces)) {
    for (const Array& piece : pieces_) {
      begins_.push_back(size_);
      size_ += static_cast<size_t>(piece.bytes());
    }
  }

  size_t size() const override { return size_; }

  size_t read(uint64_t position, void* out, size_t count,
              const char* /*what*/) const override {
    if (position >= size_) return 0;
    const size_t wanted = std::min<size_t>(count, size_ - position);
    auto piece = static_cast<size_t>(
        std::upper_bound(begins_.begin(), begins_.end(), position) -
        begins_.begin() - 1);
    for (size_t done = 0; done < wanted; ++piece) {
      const size_t skip = position + done - begins_[piece];
      const size_t length = std::min(
          wanted - done, static_cast<size_t>(pieces_[piece].bytes()) - skip);
      std::memcpy(static_cast<char*>(out) + done,
                  pieces_[piece].data.get() + skip, length);
      done += length;
    }
    return wanted;
  }

 private:
  std::vector<Array> pieces_;
  std::vector<size_t> begins_;
  size_t size_ = 0;
};

torch::jit::Module read_module(std::vector<Array> pieces, at::Device device,
                               const std::string& subject) {
  const auto archive = std::make_shared<Pieces>(std::move(pieces));
  try {
    return torch::jit::load(archive, device);
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) throw;
    fail(ErrorKind::kBadFormat, subject,
         "expected a TorchScript file, LibTorch says: " +
             libtorch_reason(error));
  }
}

GraphOrigin origin_of(const std::string& subject) {
  return {subject, "TorchScript", "torchscript"};
}

std::unique_ptr<Classifier> make_network(const torch::jit::Module& module,
                                         const LoadOptions& options,
                                         const std::string& subject) try {
  const LiftedGraph lifted = lift_graph(module, subject);
  // The functions own what the code's nodes point to.
  const GraphRun run = [functions = lifted.functions,
                        code = torch::jit::Code(lifted.graph, "forward")](
                           torch::jit::Stack& stack) {
    torch::jit::InterpreterState(code).run(stack);
  };
  return make_graph_classifier(lifted, run, origin_of(subject), options);
} catch (const Error&) {
  throw;
} catch (const std::exception& error) {
  fail_to_adapt(subject, error);
}

}  // namespace

std::unique_ptr<Classifier> load_torchscript(const std::filesystem::path& file,
                                             const LoadOptions& options) {
  check_graph_options(options, origin_of(file.string()));
  const auto module = read_module(read_torchscript_archive(file),
                                  options.device, file.string());
  return make_network(module, options, file.string());
}

std::unique_ptr<Classifier> parse_torchscript(std::string_view bytes,
                                              const LoadOptions& options,
                                              const std::string& subject) {
  check_graph_options(options, origin_of(subject));
  // Not owned: LibTorch has copied what it needs before this returns.
  const std::shared_ptr<const std::byte> data(
      reinterpret_cast<const std::byte*>(bytes.data()), [](const auto*) {});
  const auto module =
      read_module(parse_torchscript_archive(data, bytes.size(), subject),
                  options.device, subject);
  return make_network(module, options, subject);
}

}  // namespace sotta
