#include "serve/access/token.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands.h"

namespace sotta::cli {
namespace {

struct TokenFlags {
  std::string name;
  std::string scope = "infer";
  std::vector<std::string> streams;
  std::vector<std::string> models;
};

// The line goes to standard output, to be appended to a file; the secret to
// standard error, which is not.
void run(const TokenFlags& flags) {
  const std::string secret = make_secret();
  Token token;
  token.name = flags.name;
  token.hash = sha256(secret);
  token.scope = parse_scope(flags.scope);
  token.streams = flags.streams;
  token.models = flags.models;
  const std::string line = token_line(token);
  parse_tokens(line, "token");  // refuses what the server would
  std::printf("%s\n", line.c_str());
  std::fprintf(stderr, "%s\n", secret.c_str());
}

}  // namespace

void add_token(CLI::App& program) {
  auto* command =
      program.add_subcommand("token", "a new token for `sotta serve --tokens`");
  auto flags = std::make_shared<TokenFlags>();
  command->add_option("name", flags->name, "what logs call its holder")
      ->required();
  command
      ->add_option("--scope", flags->scope,
                   "infer, control (change streams) or admin (images, models)")
      ->capture_default_str();
  command->add_option("--streams", flags->streams,
                      "beginnings of the names of its streams [all]");
  command->add_option("--models", flags->models, "its models [all]");
  command->callback([flags] { run(*flags); });
}

}  // namespace sotta::cli
