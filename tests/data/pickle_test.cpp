#include "data/torch/pickle.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using namespace std::string_literals;

const std::vector<std::string_view> kGlobals = {"collections.OrderedDict",
                                                "torch.Size"};

Pickle parse(const std::string& bytes) {
  return parse_pickle(reinterpret_cast<const std::byte*>(bytes.data()),
                      bytes.size(), {"test.pkl", &kGlobals});
}

void expect_error(const std::string& bytes, ErrorKind kind,
                  const std::string& part) {
  testing::expect_error(kind, part, [&] { parse(bytes); });
}

std::string repeat(const std::string& piece, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i)
    result += piece;
  return result;
}

// {'a': (1, -2, 300), 'b': [True, None, 0.5]} as Python 3 writes it.
const std::string kPlain =
    "\x80\x02}q\0(X\x01\0\0\0aK\x01J\xfe\xff\xff\xffM\x2c\x01\x87"
    "X\x01\0\0\0b](\x88NG\x3f\xe0\0\0\0\0\0\0eu."s;

TEST(Pickle, ReadsPlainContainers) {
  const Pickle pickle = parse(kPlain);

  const PickleValue& dict = pickle.at(pickle.root);
  ASSERT_EQ(dict.kind, PickleKind::kDict);
  ASSERT_EQ(dict.items.size(), 4u);
  EXPECT_EQ(pickle.item(dict, 0).text, "a");
  const PickleValue& tuple = pickle.item(dict, 1);
  EXPECT_EQ(pickle.item(tuple, 0).integer, 1);
  EXPECT_EQ(pickle.item(tuple, 1).integer, -2);
  EXPECT_EQ(pickle.item(tuple, 2).integer, 300);
  const PickleValue& list = pickle.item(dict, 3);
  EXPECT_EQ(pickle.item(list, 0).integer, 1);
  EXPECT_EQ(pickle.item(list, 1).kind, PickleKind::kNone);
  EXPECT_EQ(pickle.item(list, 2).real, 0.5);
}

TEST(Pickle, SaysWhereItEnded) {
  EXPECT_EQ(parse(kPlain + "more").size, kPlain.size());
}

TEST(Pickle, ReadsLongsOfEveryWidth) {
  const auto value = [](const std::string& bytes) {
    const Pickle pickle = parse("\x80\x02" + bytes + ".");
    return pickle.at(pickle.root);
  };

  EXPECT_EQ(value("\x8a\0"s).integer, 0);
  EXPECT_EQ(value("\x8a\x01\xff"s).integer, -1);
  EXPECT_EQ(value("\x8a\x02\xff\0"s).integer, 255);
  EXPECT_EQ(value("\x8a\x08\0\0\0\0\0\0\0\x80"s).integer, INT64_MIN);
  EXPECT_EQ(value("\x8a\x09\0\0\0\0\0\0\0\x80\0"s).kind, PickleKind::kBigInt);
  EXPECT_EQ(value("\x8b\x02\0\0\0\x39\x30"s).integer, 12345);
}

TEST(Pickle, ReadsTheNewerProtocol) {
  const Pickle pickle = parse(
      "\x80\x04\x95\x30\0\0\0\0\0\0\0\x8c\x05torch\x94\x8c\x04Size\x94\x93"
      "\x94K\x02\x85\x94\x85\x94R\x94."s);

  const PickleValue& call = pickle.at(pickle.root);
  ASSERT_EQ(call.kind, PickleKind::kCall);
  EXPECT_EQ(call.text, "torch.Size");
  EXPECT_EQ(pickle.item(call, 0).kind, PickleKind::kTuple);
}

TEST(Pickle, OrderedDictIsADictInBothSpellings) {
  const std::string global = "\x80\x02"s + "ccollections\nOrderedDict\n";
  const std::string called = global + ")RU\x01kK\x07s}b.";
  const std::string built = global + "](](U\x01kK\x07"s + "ee\x85R.";

  const Pickle python3 = parse(called);
  const Pickle python2 = parse(built);

  for (const Pickle* pickle : {&python3, &python2}) {
    const PickleValue& dict = pickle->at(pickle->root);
    ASSERT_EQ(dict.kind, PickleKind::kDict);
    ASSERT_EQ(dict.items.size(), 2u);
    EXPECT_EQ(pickle->item(dict, 0).text, "k");
    EXPECT_EQ(pickle->item(dict, 1).integer, 7);
  }
}

TEST(Pickle, RefusesGlobalsOutsideTheList) {
  const auto kind = ErrorKind::kUnsupported;
  expect_error("\x80\x02"s + "cposix\nsystem\nU\x04true\x85R.", kind,
               "\"posix.system\"");
  expect_error("\x80\x04\x8c\x02os\x8c\x06system\x93.", kind, "\"os.system\"");
  expect_error("cbuiltins\neval\n.", kind, "\"builtins.eval\"");
  expect_error("ctorch\nSize\x1b[2J\n.", kind, "\"torch.Size?[2J\"");
}

TEST(Pickle, RefusesOpcodesThatMakeObjects) {
  const auto kind = ErrorKind::kUnsupported;
  expect_error("(S'true'\nios\nsystem\n.", kind, "STRING (0x53)");
  expect_error("(ios\nsystem\n.", kind, "INST (0x69)");
  expect_error("(cos\nsystem\no.", kind, "\"os.system\"");
  expect_error("ctorch\nSize\n)\x81.", kind, "NEWOBJ (0x81)");
  expect_error("\x82\x01.", kind, "EXT1 (0x82)");
  expect_error("ctorch\nSize\n)R}b.", kind, "attributes");
  expect_error("\x01", kind, "opcode 0x01");
}

TEST(Pickle, ReadsObjectsOfClassesThatAreExpected) {
  PickleRules rules{"test.pkl", &kGlobals};
  rules.class_prefix = "__torch__.";
  const auto parse_objects = [&](const std::string& bytes) {
    return parse_pickle(reinterpret_cast<const std::byte*>(bytes.data()),
                        bytes.size(), rules);
  };
  const std::string file =
      "\x80\x02"
      "c__torch__\nNet\n)\x81K\x07"
      "b.";
  const Pickle pickle = parse_objects(file);
  const PickleValue& net = pickle.at(pickle.root);
  ASSERT_EQ(net.kind, PickleKind::kObject);
  ASSERT_EQ(net.items.size(), 1u);
  EXPECT_EQ(pickle.item(net, 0).integer, 7);

  const auto refuses = [&](const std::string& bytes, ErrorKind kind,
                           const std::string& part) {
    testing::expect_error(kind, part, [&] { parse_objects(bytes); });
  };
  refuses("c__torch__x\nNet\n)\x81.", ErrorKind::kUnsupported,
          "__torch__x.Net");
  refuses("ctorch\nSize\n)\x81.", ErrorKind::kBadFormat, "expected a class");
  refuses("c__torch__\nNet\nN\x85\x81.", ErrorKind::kBadFormat, "no arguments");
  refuses("K\x01)\x81.", ErrorKind::kBadFormat, "expected a class");
  // A second state for the same object.
  refuses("c__torch__\nNet\n)\x81NbNb.", ErrorKind::kUnsupported, "attributes");
}

TEST(Pickle, BoundsTheNumbersOfRememberedValues) {
  EXPECT_NO_THROW(parse("Nr\xff\xff\x0f\x00."s));
  expect_error("Nr\x00\x00\x10\x00."s, ErrorKind::kBadFormat,
               "too many remembered");
}

TEST(Pickle, RefusesCallsOfAnythingButAGlobal) {
  const auto kind = ErrorKind::kBadFormat;
  expect_error("K\x01)R.", kind, "expected a global");
  expect_error("ctorch\nSize\n]R.", kind, "expected a global");
}

TEST(Pickle, RefusesLengthsBeyondTheFile) {
  const auto kind = ErrorKind::kBadFormat;
  expect_error("X\xff\xff\xff\xffx.", kind, "4294967295 more bytes");
  expect_error("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", kind, "more bytes");
  expect_error("\x8b\xff\xff\xff\x7f.", kind, "2147483647 more bytes");
  expect_error("\x8a\xff.", kind, "255 more bytes");
}

TEST(Pickle, RefusesAbuseOfStackAndMemo) {
  const auto kind = ErrorKind::kBadFormat;
  expect_error(".", kind, "nothing on the stack");
  expect_error("a.", kind, "too little on the stack");
  expect_error("t.", kind, "no mark");
  expect_error("K\x01(\x85.", kind, "too little on the stack");
  expect_error("K\x01K\x02"s + "a.", kind, "expected a list");
  expect_error("}(K\x01u.", kind, "pairs");
  expect_error("h\x05.", kind, "no remembered value 5");
  expect_error("q\x01.", kind, "nothing on the stack");
  expect_error("Q.", kind, "nothing on the stack");
}

TEST(Pickle, DeepNestingCostsNoStack) {
  const size_t depth = 500000;
  const Pickle pickle =
      parse(repeat("]", depth) + repeat("a", depth - 1) + ".");
  EXPECT_EQ(pickle.values.size(), depth);
}

TEST(Pickle, AcceptsAListThatHoldsItself) {
  const Pickle pickle = parse("]q\x01h\x01"s + "a.");
  EXPECT_EQ(pickle.at(pickle.root).items[0], pickle.root);
}

TEST(Pickle, BoundsWhatItKeeps) {
  const size_t many = (size_t{1} << 20) + 1;
  const auto kind = ErrorKind::kBadFormat;
  expect_error(repeat("]", many), kind, "at most 1048576 values");
  expect_error(repeat("(", many), kind, "too many marks");
  expect_error("Nq\x01" + repeat("h\x01", many), kind, "too deep a stack");
  // A list of 1000 pairs, handed to OrderedDict 2000 times.
  expect_error("K\x01K\x02\x86q\x01](" + repeat("h\x01", 1000) + "e\x85q\x02" +
                   repeat("ccollections\nOrderedDict\nh\x02R", 2000),
               kind, "too many pairs");
}

TEST(Pickle, TruncatedAnywhereIsAnError) {
  for (size_t size = 0; size < kPlain.size(); ++size)
    expect_error(kPlain.substr(0, size), ErrorKind::kBadFormat,
                 "damaged pickle");
}

}  // namespace
}  // namespace sotta
