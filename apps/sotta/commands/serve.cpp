#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <sys/resource.h>
#include <sys/stat.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/core/log.h"
#include "sotta/core/threads.h"
#include "sotta/engine/open_model.h"
#include "sotta/gpu/device.h"

#include "commands.h"
#include "config_file.h"
#include "core/checks.h"
#include "embedded_network.h"
#include "eval/model_checksum.h"
#include "flags.h"
#include "method_flags.h"
#include "network_probe.h"
#include "process.h"
#include "serve/http/server.h"
#include "serve/http/service.h"
#include "serve/protocol/infer_request.h"
#include "serve/streams/state_store.h"
#include "serve/streams/stream_storage.h"
#include "serve_access.h"
#include "serve_fleet.h"

namespace sotta::cli {
namespace {

// In place of a file: the Fashion-MNIST network inside the program.
constexpr const char* kEmbedded = "embedded";

struct ServeFlags {
  std::vector<std::string> models = {std::string("fashion=") + kEmbedded};
  MethodFlags method;
  std::string listen = ServerOptions().listen;
  std::string state = "sotta-state";
  int64_t max_state_mb = 0;
  FleetFlags fleet;
  std::string log = "none";
  std::string tokens, tls_cert, tls_key;
  std::vector<std::string> allow_host;
  std::string durability = "window";
  std::string answer = "strict";
  std::optional<int64_t> prompt_windows;  // of prompt answers
  bool batch_streams = false;
  bool deterministic = false;
  int64_t max_streams = TableOptions().max_streams;
  int64_t max_resident = TableOptions().max_resident;
  int64_t max_waiting = DispatcherOptions().max_waiting;
  int64_t max_waiting_of_one = DispatcherOptions().max_waiting_of_one;
  int64_t max_body_mb = 64;
  int64_t max_connections = ServerOptions().max_connections;
  int64_t drain_seconds = ServerOptions().drain_seconds;
  std::optional<int64_t> workers;  // see workers_of()
  std::string device = "cpu";
  EngineOptions engine;
  std::string precision = to_text(Precision::kFloat32);
  int64_t threads = 0;
  std::string config;
};

// Streams that are batched wait for each other, each in a worker.
int64_t workers_of(const ServeFlags& flags) {
  return flags.workers.value_or(
      flags.batch_streams ? 64 : DispatcherOptions().workers);
}

int64_t prompt_windows_of(const ServeFlags& flags) {
  return flags.prompt_windows.value_or(2);
}

void check_answers(const ServeFlags& flags) {
  require_one_of("--answer", flags.answer, {"strict", "prompt"});
  require(!flags.prompt_windows || flags.answer == "prompt", "--prompt-windows",
          "expected it with --answer prompt");
  require_within("--prompt-windows", prompt_windows_of(flags), 1, 1 << 20);
  require(!flags.batch_streams || workers_of(flags) > 1, "--workers",
          "expected several with --batch-streams, each has one stream");
  require(!flags.deterministic || flags.answer == "strict", "--answer",
          "expected strict with --deterministic: which update a prompt answer "
          "has seen depends on the time");
  require(!flags.deterministic || !flags.batch_streams, "--batch-streams",
          "expected it without --deterministic: the company of a stream's "
          "images can change last bits");
}

void check_flags(const ServeFlags& flags) {
  check_method_flags(flags.method);
  require_at_least("--seed", flags.method.seed, 0);
  require_threads("--workers", workers_of(flags), 1);
  require_at_least("--max-streams", flags.max_streams, 1);
  const int64_t workers = workers_of(flags);
  require(flags.max_resident >= workers, "--max-resident",
          "expected at least --workers, " + std::to_string(workers) + ", got " +
              std::to_string(flags.max_resident));
  require_at_least("--max-waiting", flags.max_waiting, 1);
  require_at_least("--max-waiting-of-one", flags.max_waiting_of_one, 1);
  require_within("--max-body-mb", flags.max_body_mb, 1, 4096);
  require_within("--max-connections", flags.max_connections, 1, 1 << 20);
  require_within("--drain-seconds", flags.drain_seconds, 0, 3600);
  require_within("--max-state-mb", flags.max_state_mb, 0, int64_t{1} << 40);
  require_one_of("--log", flags.log, {"none", "text", "json"});
  require_one_of("--durability", flags.durability, {"window", "request"});
  check_answers(flags);
  check_fleet_flags(flags.fleet, flags.state);
  if (!is_redis_url(flags.state)) return;
  require(flags.durability == "window", "--durability",
          "expected window with Redis, which keeps no journal of requests");
  require(flags.answer == "strict", "--answer",
          "expected strict with Redis: what waits to be learnt from does not "
          "move between servers");
  require(flags.max_state_mb == 0, "--max-state-mb",
          "expected it without Redis, which has maxmemory");
  require(flags.tls_cert.empty() && flags.tls_key.empty(),
          flags.tls_cert.empty() ? "--tls-key" : "--tls-cert",
          "expected it without Redis: servers reach each other by http, and "
          "TLS ends at the balancer");
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
  const bool is_plain = std::none_of(
      name.begin(), name.end(),
      [](unsigned char letter) { return letter < ' ' || letter == 0x7f; });
  require(name.size() <= kLongestStreamName && is_plain, "--model",
          "expected a name of at most " + std::to_string(kLongestStreamName) +
              " bytes without control characters");
  require(name != "stats", "--model",
          "expected another name than \"stats\", which the protocol has taken");
  return {name, file};
}

std::unique_ptr<ServedModel> open_served_model(const ServeFlags& flags,
                                               const std::string& text,
                                               const StreamStore& store) {
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
  settings.method = flags.method.method;
  settings.preset = parse_preset(flags.method.preset);
  settings.changes =
      parse_method_changes(flags.method, settings.network->classes());
  settings.guard = flags.method.guard;
  settings.window = flags.method.window;
  settings.seed = static_cast<uint64_t>(flags.method.seed);
  settings.journal = flags.durability == "request";
  settings.table = {flags.max_streams, flags.max_resident};
  if (flags.answer == "prompt")
    settings.table.max_behind = prompt_windows_of(flags) * flags.method.window;
  if (flags.batch_streams) settings.batch_threads = at::get_num_threads();
  return std::make_unique<ServedModel>(std::move(settings), store);
}

// Descriptors of files: what is read and written at the moment, and the
// journals of streams in memory.
int64_t most_open_files(const ServeFlags& flags) {
  const auto models = static_cast<int64_t>(flags.models.size());
  const bool journals = flags.durability == "request";
  return 64 + 4 * workers_of(flags) +
         (journals ? models * flags.max_resident : 0);
}

// Raises the limit of descriptors if need be, and says how many connections may
// be open: so many that a file can always be opened beside them.
int64_t allow_connections(const ServeFlags& flags) {
  const int64_t files = most_open_files(flags);
  const auto wanted = static_cast<rlim_t>(flags.max_connections + files);
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return flags.max_connections;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= wanted) return flags.max_connections;
  const auto allowed = static_cast<int64_t>(limit.rlim_cur);
  require(allowed > files, "open files",
          "expected a limit (ulimit -n) of more than " + std::to_string(files) +
              ", got " + std::to_string(allowed));
  log(LogLevel::kWarning, "the limit of open files, " +
                              std::to_string(allowed) + ", leaves room for " +
                              std::to_string(allowed - files) + " connections");
  return allowed - files;
}

ServiceOptions service_options(const ServeFlags& flags, int64_t threads) {
  ServiceOptions options;
  options.limits.body_bytes = flags.max_body_mb << 20;
  options.max_inflated_bytes = 16 * options.limits.body_bytes;
  options.dispatcher.workers = workers_of(flags);
  options.dispatcher.max_waiting = flags.max_waiting;
  options.dispatcher.max_waiting_of_one = flags.max_waiting_of_one;
  const auto each =
      static_cast<int>(std::max<int64_t>(1, threads / workers_of(flags)));
  options.dispatcher.prepare_thread = [each] { at::set_num_threads(each); };
  if (flags.answer == "prompt") {
    // Of the processor they have what requests leave.
    options.learners.emplace();
    options.learners->workers = std::min<int64_t>(2, workers_of(flags));
    options.learners->prepare_thread = [each] {
      at::set_num_threads(each);
      ::setpriority(PRIO_PROCESS, 0, 10);  // of this thread
    };
  }
  return options;
}

void say_ready(const ServeFlags& flags, const Service& service,
               const HttpServer& server) {
  for (const auto& model : service.models())
    std::printf("model %s: %s by %s, %zu streams in %s\n",
                model->name().c_str(), flags.method.method.c_str(),
                model->network().engine().c_str(), model->streams().size(),
                shown_state(flags.state).c_str());
  const std::string address = server.address();
  std::printf("listening on %s\ndashboard: %s/dashboard\n", address.c_str(),
              address.c_str());
  std::fflush(stdout);
}

void run(const ServeFlags& flags) {
  check_flags(flags);
  require_http_server();
  ::umask(077);  // states hold images
  const int64_t threads = use_threads(flags.threads);
  if (flags.deterministic) at::globalContext().setDeterministicCuDNN(true);
  const auto fleet = open_fleet(flags.fleet, flags.state);
  std::shared_ptr<const StreamStore> shared = fleet;
  if (!shared)
    shared =
        std::make_shared<StateStore>(flags.state, flags.max_state_mb << 20);
  const StreamStore& store = *shared;
  std::vector<std::unique_ptr<ServedModel>> models;
  for (const std::string& model : flags.models)
    models.push_back(open_served_model(flags, model, store));
  ServiceOptions options = service_options(flags, threads);
  options.open = [&](const std::string& name) {
    const auto found = std::find_if(
        flags.models.begin(), flags.models.end(),
        [&](const auto& model) { return parse_model(model).first == name; });
    return open_served_model(flags, *found, store);
  };
  use_blas_threads(std::max<int64_t>(1, threads / workers_of(flags)));
  ServerOptions server_options;
  server_options.listen = flags.listen;
  const auto written = log_requests(flags.log, server_options);
  use_tokens(flags.tokens, options, server_options);
  options.hosts = known_hosts(flags.listen, flags.allow_host);
  options.fleet = fleet;
  if (fleet)
    options.hosts.names.push_back(
        parse_server_address(flags.fleet.advertise, "--advertise").host);
  Service service(std::move(models), options);
  server_options.tls_certificate = flags.tls_cert;
  server_options.tls_key = flags.tls_key;
  server_options.drain_seconds = flags.drain_seconds;
  server_options.max_connections = allow_connections(flags);
  server_options.max_body_bytes = options.limits.body_bytes;
  server_options.max_bodies_bytes = options.max_inflated_bytes;
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
      .add_option(
          "--model", flags.models,
          "NAME=FILE, safetensors, TorchScript, .pt2 or embedded; once per "
          "model")
      ->capture_default_str();
  add_method_flags(command, flags.method);
  add_device_flags(command, flags.device, flags.threads);
  add_option_flags(command, flags.engine);
  add_precision_flag(command, flags.precision);
}

void add_server_flags(CLI::App& command, ServeFlags& flags) {
  const auto option = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)->capture_default_str();
  };
  option("--listen", flags.listen,
         "address and port, 0 takes a free one; loopback unless --tokens");
  option("--state", flags.state,
         "folder that streams are kept in, or redis://HOST:PORT/DATABASE that "
         "a fleet shares");
  add_fleet_flags(command, flags.fleet);
  command.add_option("--tokens", flags.tokens,
                     "file of `sotta token` lines: who may do what");
  command.add_option("--tls-cert", flags.tls_cert,
                     "PEM file of a certificate chain; needs --tls-key");
  command.add_option("--tls-key", flags.tls_key, "PEM file of its key");
  command.add_option("--allow-host", flags.allow_host,
                     "names besides those of loopback it may be asked by");
  option("--durability", flags.durability,
         "what survives a crash: every update (window) or every answer "
         "(request)");
  option("--answer", flags.answer,
         "strict: by a network that has seen every update before; prompt: "
         "without waiting for one");
  command.add_option("--prompt-windows", flags.prompt_windows,
                     "prompt answers are so many windows behind at most, "
                     "further images are skipped; 2");
  command.add_flag("--batch-streams", flags.batch_streams,
                   "compute images of many streams in one pass");
  command.add_flag("--deterministic", flags.deterministic,
                   "a stream's answers depend on its own requests alone, to "
                   "the last bit");
  option("--max-streams", flags.max_streams, "of a model");
  option("--max-resident", flags.max_resident,
         "streams of a model in memory, the others wait on disk");
  option("--max-waiting", flags.max_waiting, "requests in queues, in all");
  option("--max-waiting-of-one", flags.max_waiting_of_one,
         "requests in the queue of one stream");
  option("--max-state-mb", flags.max_state_mb,
         "what all streams may hold on disk; 0: no limit");
  option("--max-body-mb", flags.max_body_mb, "largest request");
  option("--log", flags.log,
         "a line per request to standard error: none, text or json");
  option("--max-connections", flags.max_connections, "open at once");
  option("--drain-seconds", flags.drain_seconds,
         "from SIGTERM, not ready and answering still, so that a balancer "
         "notices");
  command.add_option("--workers", flags.workers,
                     "requests computed at once, sharing --threads; 2, or 64 "
                     "with --batch-streams");
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
    flags->method.given = given_flags(*command);
    if (!flags->config.empty()) {
      read_config_file(flags->config, *command);
      flags->method.given.merge(changed_flags(*command));
    }
    run(*flags);
  });
}

}  // namespace sotta::cli
