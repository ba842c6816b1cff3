#include "serve/access/token.h"

#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

const std::string kHash(64, 'a');

std::string line(const std::string& name, const std::string& more = "",
                 const std::string& hash = kHash) {
  return R"({"name":")" + name + R"(","sha256":")" + hash +
         R"(","scope":"control")" + more + "}\n";
}

TEST(Token, AFileHasATokenInEachLine) {
  const auto tokens =
      parse_tokens("# who\n\n" + line("a", R"(,"streams":["x-","y"])") +
                       line("b", R"(,"models":["m"])", std::string(64, 'b')),
                   "file");

  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens[0].name, "a");
  EXPECT_EQ(tokens[0].hash[31], 0xaa);
  EXPECT_EQ(tokens[0].scope, Scope::kControl);
  EXPECT_EQ(tokens[0].streams, (std::vector<std::string>{"x-", "y"}));
  EXPECT_EQ(tokens[1].models, std::vector<std::string>{"m"});
}

TEST(Token, EachScopeAllowsWhatStandsBeforeIt) {
  Token token;
  token.scope = Scope::kControl;

  EXPECT_TRUE(token.allows(Scope::kInfer));
  EXPECT_TRUE(token.allows(Scope::kControl));
  EXPECT_FALSE(token.allows(Scope::kAdmin));
}

TEST(Token, ReachesStreamsByTheirBeginningsAndModelsByTheirNames) {
  Token token;
  EXPECT_TRUE(token.reaches_all());
  token.streams = {"gate-", "x"};
  token.models = {"m"};

  EXPECT_TRUE(token.reaches_stream("gate-1"));
  EXPECT_TRUE(token.reaches_stream("x"));
  EXPECT_FALSE(token.reaches_stream("gate"));
  EXPECT_FALSE(token.reaches_stream("a-gate-1"));
  EXPECT_TRUE(token.reaches_model("m"));
  EXPECT_FALSE(token.reaches_model("mm"));
  EXPECT_FALSE(token.reaches_all());
}

TEST(Token, ALineThatIsWrongIsRefusedByItsNumber) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"[]", "expected a JSON object"},
      {"{\"name\":", "expected a JSON object"},
      {R"({"name":"a","sha256":"aa","scope":"infer"})", "64 hexadecimal"},
      {line("a", "", std::string(64, 'A')), "64 hexadecimal"},
      {line("a", "", std::string(64, 'g')), "64 hexadecimal"},
      {R"({"name":"a","sha256":")" + kHash + R"("})", "expected a scope"},
      {R"({"name":"a","sha256":")" + kHash + R"(","scope":"root"})",
       "infer, control or admin"},
      {line(""), "not empty"},
      {line("a\\n"), "control characters"},
      {line("a", R"(,"streams":[])"), "not empty"},
      {line("a", R"(,"streams":[""])"), "not empty"},
      {line("a", R"(,"streams":"x")"), "list"},
      {line("a", R"(,"models":[1])"), "string"},
      {line("a", R"(,"stream":["x"])"), "did you mean \"streams\""},
      {"{\"name\":\"\xff\"}", "expected a JSON object"}};
  for (const auto& entry : wrong)
    testing::expect_error(ErrorKind::kInvalid, entry.second, [&] {
      parse_tokens("\n" + entry.first, "f: line 2");
    });
}

TEST(Token, TwoOfOneNameOrHashAreRefusedAndNoneAtAll) {
  const auto refused = [](const std::string& text, const std::string& part) {
    testing::expect_error(ErrorKind::kInvalid, part,
                          [&] { parse_tokens(text, "f"); });
  };
  refused(line("a") + line("b"), "line 2");
  refused(line("a") + line("a", "", std::string(64, 'b')), "line 2");
  refused("# nobody\n", "at least one token");
  refused("", "at least one token");
}

TEST(Token, ASecretPastedInPlaceOfItsHashIsNotRepeated) {
  try {
    parse_tokens(line("a", "", "sotta_secret"), "f");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos);
  }
}

TEST(Token, ItsLineIsReadBackAsItWas) {
  Token token;
  token.name = "gr\xc3\xbc\xc3\x9f \"x\"";
  token.hash[3] = 7;
  token.scope = Scope::kAdmin;
  token.streams = {"a/", "b"};

  const Token read = parse_tokens(token_line(token), "line").front();

  EXPECT_EQ(read.name, token.name);
  EXPECT_EQ(read.hash, token.hash);
  EXPECT_EQ(read.scope, token.scope);
  EXPECT_EQ(read.streams, token.streams);
  EXPECT_TRUE(read.models.empty());
}

TEST(Token, SecretsAreLongAndDiffer) {
  const std::string one = make_secret(), other = make_secret();

  EXPECT_EQ(one.size(), 70U);
  EXPECT_NE(one, other);
}

TEST(Token, AFileThatOthersMayReadIsReadWithAWarning) {
  const testing::TempDir folder;
  const auto file = folder.write("tokens", line("a"));
  std::string said;
  set_log_sink([&](LogLevel, const std::string& text) { said += text; });

  using std::filesystem::perms;
  std::filesystem::permissions(file, perms::owner_read | perms::others_read);
  EXPECT_EQ(read_tokens(file).size(), 1U);
  EXPECT_NE(said.find("others may read"), std::string::npos);
  said.clear();
  std::filesystem::permissions(file, perms::owner_read);
  EXPECT_EQ(read_tokens(file).size(), 1U);
  set_log_sink({});
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace sotta
