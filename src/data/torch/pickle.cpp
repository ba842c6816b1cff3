#include "data/torch/pickle.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "sotta/core/error.h"

#include "data/formats/printable.h"
#include "data/torch/pickle_opcode.h"

namespace sotta {
namespace {

// A state_dict takes about 15 values per tensor. The limit keeps the table
// under 100 MB whatever the file holds.
constexpr size_t kMaxValues = size_t{1} << 20;

constexpr std::string_view kOrderedDict = "collections.OrderedDict";

class PickleMachine {
 public:
  PickleMachine(const std::byte* data, size_t size, const PickleRules& rules)
      : data_(reinterpret_cast<const char*>(data)),
        size_(size),
        rules_(rules) {}

  Pickle run() {
    while (true) {
      const auto opcode = static_cast<PickleOpcode>(number(1));
      if (opcode == PickleOpcode::kStop) break;
      step(opcode);
    }
    pickle_.root = pop();
    pickle_.size = position_;
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void damaged(const std::string& problem) const {
    fail(
        ErrorKind::kBadFormat, rules_.subject,
        "damaged pickle, " + problem + " at byte " + std::to_string(position_));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::kUnsupported, rules_.subject,
         "the pickle asks for " + what + ", " + std::string(rules_.refusal));
  }

  // Reading.

  std::string_view take(uint64_t count) {
    if (count > size_ - position_)
      damaged("expected " + std::to_string(count) + " more bytes, got " +
              std::to_string(size_ - position_));
    const std::string_view bytes(data_ + position_, count);
    position_ += count;
    return bytes;
  }

  uint64_t number(size_t width) {  // little-endian
    uint64_t value = 0;
    const std::string_view bytes = take(width);
    for (size_t i = 0; i < width; ++i)
      value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return value;
  }

  std::string_view line() {
    const void* end = std::memchr(data_ + position_, '\n', size_ - position_);
    if (end == nullptr) damaged("expected the end of a line");
    const auto length = static_cast<const char*>(end) - (data_ + position_);
    const std::string_view text = take(static_cast<uint64_t>(length));
    position_ += 1;
    return text;
  }

  // The stack.

  PickleValue& push(PickleKind kind) {
    if (pickle_.values.size() >= kMaxValues)
      damaged("expected at most " + std::to_string(kMaxValues) + " values");
    push_index(static_cast<PickleIndex>(pickle_.values.size()));
    pickle_.values.emplace_back();
    pickle_.values.back().kind = kind;
    return pickle_.values.back();
  }

  void push_index(PickleIndex index) {
    if (stack_.size() >= kMaxValues) damaged("too deep a stack");
    stack_.push_back(index);
  }

  // Values below the last mark belong to an unfinished container.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  PickleIndex top() const {
    if (stack_.size() <= floor()) damaged("nothing on the stack");
    return stack_.back();
  }

  PickleIndex pop() {
    const PickleIndex index = top();
    stack_.pop_back();
    return index;
  }

  std::vector<PickleIndex> pop_last(size_t count) {
    if (stack_.size() - floor() < count) damaged("too little on the stack");
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<PickleIndex> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return items;
  }

  std::vector<PickleIndex> pop_to_mark() {
    if (marks_.empty()) damaged("no mark");
    auto items = pop_last(stack_.size() - floor());
    marks_.pop_back();
    return items;
  }

  void mark() {
    if (marks_.size() >= kMaxValues) damaged("too many marks");
    marks_.push_back(stack_.size());
  }

  // One step.

  void step(PickleOpcode opcode);
  void push_integer(int64_t value);
  void push_long(uint64_t width);
  void push_float();
  void push_text(PickleKind kind, uint64_t length);
  void push_tuple(std::vector<PickleIndex> items);
  void append(const std::vector<PickleIndex>& items);
  void set_items(const std::vector<PickleIndex>& items);
  void remember(uint64_t slot);
  void recall(uint64_t slot);
  void push_global(std::string_view module, std::string_view name);
  void push_stack_global();
  void push_persistent();
  void call();
  void call_ordered_dict(const PickleValue& arguments);
  bool is_class(const PickleValue& value) const;
  void make_object();
  void build();

  const char* data_;
  size_t size_;
  size_t position_ = 0;
  const PickleRules& rules_;
  Pickle pickle_;
  std::vector<PickleIndex> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleIndex> memo_;
  size_t copied_pairs_ = 0;
};

// The one list of what is understood; see pickle_opcode.h for the rest.
void PickleMachine::step(PickleOpcode opcode) {
  using Op = PickleOpcode;
  using Kind = PickleKind;
  switch (opcode) {
    // clang-format off
    case Op::kProto: number(1); return;
    case Op::kFrame: number(8); return;
    case Op::kMark: return mark();
    case Op::kNone: push(Kind::kNone); return;
    case Op::kNewTrue: push(Kind::kBool).integer = 1; return;
    case Op::kNewFalse: push(Kind::kBool).integer = 0; return;
    case Op::kBinInt:
      return push_integer(static_cast<int32_t>(number(4)));
    case Op::kBinInt1: return push_integer(static_cast<int64_t>(number(1)));
    case Op::kBinInt2: return push_integer(static_cast<int64_t>(number(2)));
    case Op::kLong1: return push_long(number(1));
    case Op::kLong4: return push_long(number(4));
    case Op::kBinFloat: return push_float();
    case Op::kShortBinString: return push_text(Kind::kText, number(1));
    case Op::kBinString: return push_text(Kind::kText, number(4));
    case Op::kShortBinUnicode: return push_text(Kind::kText, number(1));
    case Op::kBinUnicode: return push_text(Kind::kText, number(4));
    case Op::kBinUnicode8: return push_text(Kind::kText, number(8));
    case Op::kShortBinBytes: return push_text(Kind::kBytes, number(1));
    case Op::kBinBytes: return push_text(Kind::kBytes, number(4));
    case Op::kBinBytes8: return push_text(Kind::kBytes, number(8));
    case Op::kEmptyTuple: return push_tuple({});
    case Op::kTuple1: return push_tuple(pop_last(1));
    case Op::kTuple2: return push_tuple(pop_last(2));
    case Op::kTuple3: return push_tuple(pop_last(3));
    case Op::kTuple: return push_tuple(pop_to_mark());
    case Op::kEmptyList: push(Kind::kList); return;
    case Op::kAppend: return append(pop_last(1));
    case Op::kAppends: return append(pop_to_mark());
    case Op::kEmptyDict: push(Kind::kDict); return;
    case Op::kSetItem: return set_items(pop_last(2));
    case Op::kSetItems: return set_items(pop_to_mark());
    case Op::kBinPut: return remember(number(1));
    case Op::kLongBinPut: return remember(number(4));
    case Op::kMemoize: return remember(memo_.size());
    case Op::kBinGet: return recall(number(1));
    case Op::kLongBinGet: return recall(number(4));
    case Op::kGlobal: { const auto module = line();
                        return push_global(module, line()); }
    case Op::kStackGlobal: return push_stack_global();
    case Op::kBinPersId: return push_persistent();
    case Op::kReduce: return call();
    case Op::kBuild: return build();
    case Op::kNewObject: return make_object();
    default: refuse("the opcode " + opcode_name(opcode));
      // clang-format on
  }
}

void PickleMachine::push_integer(int64_t value) {
  push(PickleKind::kInt).integer = value;
}

// Two's complement of any width; beyond 64 bits it stays a string of bytes.
void PickleMachine::push_long(uint64_t width) {
  const std::string_view bytes = take(width);
  if (width > 8) {
    push(PickleKind::kBigInt).text = bytes;
    return;
  }
  uint64_t value = 0;
  if (width > 0 && static_cast<signed char>(bytes.back()) < 0)
    value = ~uint64_t{0};
  for (size_t i = width; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  push_integer(static_cast<int64_t>(value));
}

void PickleMachine::push_float() {
  uint64_t bits = 0;
  for (const char byte : take(8))  // big-endian, unlike everything else
    bits = bits << 8 | static_cast<unsigned char>(byte);
  std::memcpy(&push(PickleKind::kFloat).real, &bits, sizeof bits);
}

void PickleMachine::push_text(PickleKind kind, uint64_t length) {
  const std::string_view text = take(length);
  push(kind).text = text;
}

void PickleMachine::push_tuple(std::vector<PickleIndex> items) {
  push(PickleKind::kTuple).items = std::move(items);
}

void PickleMachine::append(const std::vector<PickleIndex>& items) {
  PickleValue& list = pickle_.values[top()];
  if (list.kind != PickleKind::kList) damaged("expected a list to append to");
  list.items.insert(list.items.end(), items.begin(), items.end());
}

void PickleMachine::set_items(const std::vector<PickleIndex>& items) {
  PickleValue& dict = pickle_.values[top()];
  if (dict.kind != PickleKind::kDict || items.size() % 2 != 0)
    damaged("expected a dict and pairs to put into it");
  dict.items.insert(dict.items.end(), items.begin(), items.end());
}

void PickleMachine::remember(uint64_t slot) {
  // LibTorch's table of them is as long as the largest number.
  if (slot >= kMaxValues) damaged("too many remembered values");
  memo_[slot] = top();
}

void PickleMachine::recall(uint64_t slot) {
  const auto found = memo_.find(slot);
  if (found == memo_.end())
    damaged("no remembered value " + std::to_string(slot));
  push_index(found->second);
}

void PickleMachine::push_global(std::string_view module,
                                std::string_view name) {
  const std::string full = std::string(module) + "." + std::string(name);
  const auto& allowed = *rules_.globals;
  const auto found = std::find(allowed.begin(), allowed.end(), full);
  if (found != allowed.end())
    push(PickleKind::kGlobal).text = *found;
  else if (!rules_.class_prefix.empty() &&
           full.rfind(rules_.class_prefix, 0) == 0)
    push(PickleKind::kGlobal).text = rules_.class_prefix;
  else
    refuse(printable(full));
}

void PickleMachine::push_stack_global() {
  const auto names = pop_last(2);
  const PickleValue& module = pickle_.at(names[0]);
  const PickleValue& name = pickle_.at(names[1]);
  if (module.kind != PickleKind::kText || name.kind != PickleKind::kText)
    damaged("expected two strings that name a global");
  push_global(module.text, name.text);
}

void PickleMachine::push_persistent() {
  const PickleIndex id = pop();
  if (pickle_.at(id).kind != PickleKind::kTuple)
    damaged("expected a tuple as reference");
  push(PickleKind::kPersistent).items = {id};
}

void PickleMachine::call() {
  const auto operands = pop_last(2);
  const PickleValue& callee = pickle_.at(operands[0]);
  const PickleValue& arguments = pickle_.at(operands[1]);
  if (callee.kind != PickleKind::kGlobal ||
      arguments.kind != PickleKind::kTuple)
    damaged("expected a global and a tuple of arguments");
  if (callee.text == kOrderedDict) return call_ordered_dict(arguments);
  const std::string_view name = callee.text;
  PickleValue& result = push(PickleKind::kCall);
  result.text = name;
  result.items = {operands[1]};
}

// Python 3 writes OrderedDict() and then sets items; Python 2 passes a list of
// pairs.
void PickleMachine::call_ordered_dict(const PickleValue& arguments) {
  std::vector<PickleIndex> items;
  if (!arguments.items.empty()) {
    for (const PickleIndex pair : pickle_.item(arguments, 0).items) {
      const auto& key_and_value = pickle_.at(pair).items;
      if (key_and_value.size() != 2) damaged("expected pairs in OrderedDict");
      items.insert(items.end(), key_and_value.begin(), key_and_value.end());
      // The same list may be passed again and again.
      if (++copied_pairs_ > kMaxValues) damaged("too many pairs");
    }
  }
  push(PickleKind::kDict).items = std::move(items);
}

bool PickleMachine::is_class(const PickleValue& value) const {
  return value.kind == PickleKind::kGlobal && !rules_.class_prefix.empty() &&
         value.text == rules_.class_prefix;
}

void PickleMachine::make_object() {
  if (rules_.class_prefix.empty())
    refuse("the opcode " + opcode_name(PickleOpcode::kNewObject));
  const auto operands = pop_last(2);
  const PickleValue& arguments = pickle_.at(operands[1]);
  if (!is_class(pickle_.at(operands[0])) ||
      arguments.kind != PickleKind::kTuple || !arguments.items.empty())
    damaged("expected a class and no arguments");
  push(PickleKind::kObject);
}

// Attributes of a dict (the state_dict's _metadata) are no part of its
// content; an object's are all there is of it.
void PickleMachine::build() {
  const PickleIndex state = pop();
  PickleValue& value = pickle_.values[top()];
  if (value.kind == PickleKind::kObject && value.items.empty())
    value.items = {state};
  else if (value.kind != PickleKind::kDict)
    refuse("an object with attributes of its own");
}

}  // namespace

Pickle parse_pickle(const std::byte* data, size_t size,
                    const PickleRules& rules) {
  return PickleMachine(data, size, rules).run();
}

}  // namespace sotta
