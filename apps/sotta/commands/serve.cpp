#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <sys/resource.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/core/threads.h"
#include "sotta/engine/open_model.h"
#include "sotta/gpu/device.h"

#include "commands.h"
#include "config_file.h"
#include "core/checks.h"
#include "embedded_network.h"
#include "eval/model_checksum.h"
#include "flags.h"
#include "method_changes.h"
#include "network_probe.h"
#include "process.h"
#include "serve/http/server.h"
#include "serve/http/service.h"
#include "serve/streams/state_store.h"

namespace sotta::cli {
namespace {

// In place of a file: the Fashion-MNIST network inside the program.
constexpr const char* kEmbedded = "embedded";

struct ServeFlags {
  std::vector<std::string> models = {std::string("fashion=") + kEmbedded};
  std::string method = "sotta";
  std::string preset = "clean";
  std::vector<std::string> changes;  // "min_confidence=0.9"
  int64_t window = 64;
  int64_t seed = 0;
  GuardOptions guard;
  std::string listen = ServerOptions().listen;
  std::string state = "sotta-state";
  std::string durability = "window";
  int64_t max_streams = TableOptions().max_streams;
  int64_t max_resident = TableOptions().max_resident;
  int64_t max_waiting = DispatcherOptions().max_waiting;
  int64_t max_waiting_of_one = DispatcherOptions().max_waiting_of_one;
  int64_t max_body_mb = 64;
  int64_t max_connections = ServerOptions().max_connections;
  int64_t workers = DispatcherOptions().workers;
  std::string device = "cpu";
  EngineOptions engine;
  std::string precision = to_text(Precision::kFloat32);
  int64_t threads = 0;
  std::string config;
};

void check_flags(const ServeFlags& flags) {
  require_at_least("--window", flags.window, 1);
  require_at_least("--seed", flags.seed, 0);
  require_threads("--workers", flags.workers, 1);
  require_at_least("--max-streams", flags.max_streams, 1);
  require(flags.max_resident >= flags.workers, "--max-resident",
          "expected at least --workers, " + std::to_string(flags.workers) +
              ", got " + std::to_string(flags.max_resident));
  require_at_least("--max-waiting", flags.max_waiting, 1);
  require_at_least("--max-waiting-of-one", flags.max_waiting_of_one, 1);
  require_within("--max-body-mb", flags.max_body_mb, 1, 4096);
  require_within("--max-connections", flags.max_connections, 1, 1 << 20);
  require_one_of("--durability", flags.durability, {"window", "request"});
  validate(flags.guard);
}

// "name=file", or a file whose name without its ending is the model's.
std::pair<std::string, std::string> parse_model(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string file =
      equals == std::string::npos ? text : text.substr(equals + 1);
  const std::string name = equals == std::string::npos
                               ? std::filesystem::path(text).stem().string()
                               : text.substr(0, equals);
  require(!name.empty() && !file.empty(), "--model",
          "expected NAME=FILE, got \"" + text + "\"");
  require(name != "stats", "--model",
          "expected another name than \"stats\", which the protocol has taken");
  return {name, file};
}

std::unique_ptr<ServedModel> open_served_model(const ServeFlags& flags,
                                               const std::string& text,
                                               const StateStore& store) {
  const auto [name, file] = parse_model(text);
  ModelOptions options;
  options.device = parse_device(flags.device);
  options.precision = parse_precision(flags.precision);
  if (file != kEmbedded) probe_network(file, options);
  options.engine = flags.engine;

  ModelSettings settings;
  settings.name = name;
  settings.network =
      file == kEmbedded
          ? choose_engine(make_classifier(embedded_network(), options, file),
                          options.engine)
          : open_model(file, options);
  settings.checksum = model_checksum(settings.network->source());
  settings.method = flags.method;
  settings.preset = parse_preset(flags.preset);
  settings.changes =
      parse_method_changes(flags.method, settings.preset,
                           settings.network->classes(), flags.changes);
  settings.guard = flags.guard;
  settings.window = flags.window;
  settings.seed = static_cast<uint64_t>(flags.seed);
  settings.journal = flags.durability == "request";
  settings.table = {flags.max_streams, flags.max_resident};
  return std::make_unique<ServedModel>(std::move(settings), store);
}

// A file descriptor per connection, and some for files.
void allow_connections(int64_t connections) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(connections) + 256;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

ServiceOptions service_options(const ServeFlags& flags, int64_t threads) {
  ServiceOptions options;
  options.limits.body_bytes = flags.max_body_mb << 20;
  options.dispatcher.workers = flags.workers;
  options.dispatcher.max_waiting = flags.max_waiting;
  options.dispatcher.max_waiting_of_one = flags.max_waiting_of_one;
  const auto each =
      static_cast<int>(std::max<int64_t>(1, threads / flags.workers));
  options.dispatcher.prepare_thread = [each] { at::set_num_threads(each); };
  return options;
}

void say_ready(const ServeFlags& flags, const Service& service,
               const HttpServer& server) {
  for (const ServedModel* model : service.models())
    std::printf("model %s: %s by %s, %zu streams in %s\n",
                model->name().c_str(), flags.method.c_str(),
                model->network().engine().c_str(), model->streams().size(),
                flags.state.c_str());
  std::printf("listening on http://%s\n", server.address().c_str());
  std::fflush(stdout);
}

void run(const ServeFlags& flags) {
  check_flags(flags);
  require_http_server();
  const int64_t threads = use_threads(flags.threads);
  const StateStore store(flags.state);
  std::vector<std::unique_ptr<ServedModel>> models;
  for (const std::string& model : flags.models)
    models.push_back(open_served_model(flags, model, store));
  const ServiceOptions options = service_options(flags, threads);
  use_blas_threads(std::max<int64_t>(1, threads / flags.workers));
  Service service(std::move(models), options);
  ServerOptions server_options;
  server_options.listen = flags.listen;
  server_options.max_connections = flags.max_connections;
  server_options.max_body_bytes = options.limits.body_bytes;
  server_options.max_bodies_bytes = 16 * options.limits.body_bytes;
  allow_connections(flags.max_connections);
  HttpServer server(server_options, service);
  say_ready(flags, service, server);
  server.run();
  const size_t refused = service.drain();
  if (refused > 0)
    throw CLI::RuntimeError(
        std::to_string(refused) +
            " streams could not be saved, they go on from their last snapshot",
        1);
}

void add_model_flags(CLI::App& command, ServeFlags& flags) {
  command
      .add_option("--model", flags.models,
                  "NAME=FILE, safetensors, TorchScript or embedded; once per "
                  "model")
      ->capture_default_str();
  command.add_option("--method", flags.method, "see `sotta info`")
      ->capture_default_str();
  command.add_option("--preset", flags.preset, "clean or paper")
      ->capture_default_str();
  command.add_option("--set", flags.changes,
                     "an option of the method, name=value");
  command.add_option("--window", flags.window, "images between two updates")
      ->capture_default_str();
  command.add_option("--seed", flags.seed, "of every stream's random choices")
      ->capture_default_str();
  add_option_flags(command, flags.guard);
  add_device_flags(command, flags.device, flags.threads);
  add_option_flags(command, flags.engine);
  add_precision_flag(command, flags.precision);
}

void add_server_flags(CLI::App& command, ServeFlags& flags) {
  const auto option = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)->capture_default_str();
  };
  option("--listen", flags.listen,
         "loopback address and port; 0 takes a free one");
  option("--state", flags.state, "folder that streams are kept in");
  option("--durability", flags.durability,
         "what survives a crash: every update (window) or every answer "
         "(request)");
  option("--max-streams", flags.max_streams, "of a model");
  option("--max-resident", flags.max_resident,
         "streams of a model in memory, the others wait on disk");
  option("--max-waiting", flags.max_waiting, "requests in queues, in all");
  option("--max-waiting-of-one", flags.max_waiting_of_one,
         "requests in the queue of one stream");
  option("--max-body-mb", flags.max_body_mb, "largest request");
  option("--max-connections", flags.max_connections, "open at once");
  option("--workers", flags.workers,
         "requests computed at once, sharing --threads");
  command.add_option("--config", flags.config,
                     "TOML file whose keys are these flags");
}

}  // namespace

void add_serve(CLI::App& program) {
  auto* command = program.add_subcommand(
      "serve", "many adapting streams over HTTP, kept on disk");
  auto flags = std::make_shared<ServeFlags>();
  add_model_flags(*command, *flags);
  add_server_flags(*command, *flags);
  command->callback([flags, command] {
    if (!flags->config.empty()) read_config_file(flags->config, *command);
    run(*flags);
  });
}

}  // namespace sotta::cli
