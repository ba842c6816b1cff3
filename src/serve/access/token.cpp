#include "serve/access/token.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sstream>
#include <system_error>

#include <nlohmann/json.hpp>
#include <sys/random.h>

#include "sotta/core/error.h"
#include "sotta/core/log.h"
#include "sotta/core/options.h"

#include "data/formats/mapped_file.h"

namespace sotta {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kScopes = {"infer", "control", "admin"};

bool begins_with(const std::string& text, const std::string& beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

template <class Bytes>
std::string to_hex(const Bytes& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text.push_back("0123456789abcdef"[byte >> 4]);
    text.push_back("0123456789abcdef"[byte & 15]);
  }
  return text;
}

std::optional<Sha256> from_hex(const std::string& text) {
  Sha256 bytes = {};
  if (text.size() != 2 * bytes.size()) return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    int digit = 0;
    if (letter >= '0' && letter <= '9')
      digit = letter - '0';
    else if (letter >= 'a' && letter <= 'f')
      digit = letter - 'a' + 10;
    else
      return std::nullopt;
    bytes[i / 2] = static_cast<unsigned char>(bytes[i / 2] << 4 | digit);
  }
  return bytes;
}

// Reads one line. Values are never quoted in messages: a secret may have been
// pasted where its hash belongs.
class LineReader {
 public:
  LineReader(const std::string& line, std::string subject)
      : subject_(std::move(subject)),
        object_(Json::parse(line, nullptr, /*allow_exceptions=*/false)) {
    if (!object_.is_object()) refuse("expected a JSON object");
    for (const auto& [key, unused] : object_.items())
      require_one_of(subject_, key,
                     {"name", "sha256", "scope", "streams", "models"});
  }

  Token read() const {
    Token token;
    token.name = text("name");
    if (std::any_of(token.name.begin(), token.name.end(),
                    [](unsigned char letter) { return letter < ' '; }))
      refuse("name: expected no control characters");
    const auto hash = from_hex(text("sha256"));
    if (!hash) refuse("sha256: expected 64 hexadecimal digits in lower case");
    token.hash = *hash;
    const std::string scope = text("scope");
    if (std::find(kScopes.begin(), kScopes.end(), scope) == kScopes.end())
      refuse("scope: expected infer, control or admin");
    token.scope = parse_scope(scope);
    token.streams = list("streams");
    token.models = list("models");
    return token;
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    fail(ErrorKind::kInvalid, subject_, problem);
  }

  std::string text_of(const Json& value, const std::string& key) const {
    if (!value.is_string() || value.get<std::string>().empty())
      refuse(key + ": expected a string that is not empty");
    return value.get<std::string>();
  }

  std::string text(const char* key) const {
    if (!object_.contains(key)) refuse(std::string("expected a ") + key);
    return text_of(object_[key], key);
  }

  // An empty list could mean none or all.
  std::vector<std::string> list(const char* key) const {
    std::vector<std::string> values;
    if (!object_.contains(key)) return values;
    if (!object_[key].is_array() || object_[key].empty())
      refuse(std::string(key) + ": expected a list that is not empty");
    for (const Json& value : object_[key])
      values.push_back(text_of(value, key));
    return values;
  }

  std::string subject_;
  Json object_;
};

}  // namespace

Scope parse_scope(const std::string& text) {
  require_one_of("scope", text, kScopes);
  const auto found = std::find(kScopes.begin(), kScopes.end(), text);
  return static_cast<Scope>(1 + (found - kScopes.begin()));
}

bool Token::reaches_stream(const std::string& stream) const {
  return streams.empty() || std::any_of(streams.begin(), streams.end(),
                                        [&](const std::string& beginning) {
                                          return begins_with(stream, beginning);
                                        });
}

bool Token::reaches_model(const std::string& model) const {
  return models.empty() ||
         std::find(models.begin(), models.end(), model) != models.end();
}

std::vector<Token> parse_tokens(const std::string& text,
                                const std::string& subject) {
  std::vector<Token> tokens;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#')
      continue;
    const std::string where = subject + ": line " + std::to_string(number);
    const Token token = LineReader(line, where).read();
    for (const Token& other : tokens)
      require(
          other.name != token.name && other.hash != token.hash, where,
          "expected a name and a hash of its own, got those of " + other.name);
    tokens.push_back(token);
  }
  require(!tokens.empty(), subject,
          "expected at least one token, `sotta token` makes one");
  return tokens;
}

std::vector<Token> read_tokens(const std::filesystem::path& file) {
  using std::filesystem::perms;
  const SharedBytes bytes = map_file(file);
  const perms others = perms::others_read | perms::others_write;
  if ((std::filesystem::status(file).permissions() & others) != perms::none)
    log(LogLevel::kWarning,
        file.string() + ": others may read or change it, chmod 600 is safer");
  return parse_tokens(
      {reinterpret_cast<const char*>(bytes.data.get()), bytes.size},
      file.string());
}

std::string token_line(const Token& token) {
  Json line = {{"name", token.name},
               {"sha256", to_hex(token.hash)},
               {"scope", kScopes[static_cast<size_t>(token.scope) - 1]}};
  if (!token.streams.empty()) line["streams"] = token.streams;
  if (!token.models.empty()) line["models"] = token.models;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string make_secret() {
  std::array<unsigned char, 32> bytes = {};
  const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
  if (got != static_cast<ssize_t>(bytes.size()))
    fail(ErrorKind::kIo, "token",
         "the system gives no random bytes: " +
             std::generic_category().message(errno));
  return "sotta_" + to_hex(bytes);
}

}  // namespace sotta
