#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "serve/access/scope.h"
#include "serve/access/sha256.h"

namespace sotta {

// Who may do what: a line of the file that --tokens names.
struct Token {
  std::string name;  // what logs call its holder
  Sha256 hash = {};  // of the secret, which is written nowhere
  Scope scope = Scope::kAdmin;
  std::vector<std::string> streams;  // beginnings of names; none: all streams
  std::vector<std::string> models;   // names; none: all models

  bool allows(Scope needed) const { return needed <= scope; }
  bool reaches_stream(const std::string& stream) const;
  bool reaches_model(const std::string& model) const;
  bool reaches_all() const { return streams.empty() && models.empty(); }
};

// "infer", "control" or "admin". Throws Error(kInvalid) for another text.
Scope parse_scope(const std::string& text);

// Reads a token file: a JSON object in each line; empty lines and those that
// begin with '#' are skipped.
//
//   {"name":"gate","sha256":"<64 digits>","scope":"infer","streams":["gate-"]}
//
// `streams` and `models` may be left out. Throws Error(kInvalid) for anything
// else, for two tokens of one name or hash, and for none at all; messages name
// `subject` and the line.
std::vector<Token> parse_tokens(const std::string& text,
                                const std::string& subject);

// The same of a file. Throws Error as map_file() does, too; logs a warning if
// users other than its owner and group may read or change it.
std::vector<Token> read_tokens(const std::filesystem::path& file);

// The token's line, without the line end.
std::string token_line(const Token& token);

// A new secret: 256 bits of the system's randomness, as "sotta_" and 64
// hexadecimal digits. Throws Error(kIo).
std::string make_secret();

}  // namespace sotta
