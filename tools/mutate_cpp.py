"""Finds places for one-line faults in a C++ source and writes it with all of them in; mutate.py uses it.

Reads tokens, not C++: it relies on the formatter's spaces to tell `a < b` from `vector<b>`, and on
the compiler to refuse what makes no sense.
"""
import collections
import hashlib
import itertools
import re

TOKEN = re.compile(r"""(?P<skip>(?:\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*)+)
    |(?P<text>(?:u8|[uUL])?R"(?P<mark>\w*)\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'
    |\.?[0-9](?:[eEpP][+-]|'(?=[0-9])|[\w.])*|\w+
    |<<=|>>=|\.\.\.|->|::|\+\+|--|<<|[-+*/%&|^<>=!]=|&&|\|\||.)""", re.X | re.S | re.M)
NUMBER = re.compile(r"(0|[1-9][0-9]*|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)([fFuUlL]*)")

PRECEDENCE = {token: level for level, tokens in enumerate(
    [", ;", "= += -= *= /= %= &= |= ^= <<= >>=", "? :", "||", "&&", "|", "^", "&", "== !=",
     "< <= > >=", "<< >>", "+ -", "* / %"]) for token in tokens.split()}
CALL = len(PRECEDENCE)  # binds more tightly than any operator
OPERATORS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
             "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "&": "|", "|": "&",
             "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
CALLS = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "round": "floor", "front": "back",
         "back": "front", "any_of": "all_of", "all_of": "any_of", "lower_bound": "upper_bound",
         "upper_bound": "lower_bound", "clamp_min": "clamp_max", "clamp_max": "clamp_min", "argmax": "argmin",
         "argmin": "argmax", "min_element": "max_element", "max_element": "min_element", "sin": "cos", "cos": "sin"}
ARGUMENT = re.compile(r"(?!(?:this|nullptr|true|false)$)[A-Za-z_](\w|\.|->|::)*")
DECLARATION = re.compile(r"(const|static|auto|constexpr)\b|[\w:<>, ]+[&*]* [&*]*[\w\[]+( =|;|,|\(|\{|\[)")
CONTROL = {"if", "for", "while", "switch", "catch", "constexpr"}
NO_EXPRESSION = {"return", "throw", "case", "else", "do", "goto", "default", "using", "static_assert", "typedef",
                 "template", "try", "public", "private", "protected", "friend", "extern", "namespace", *CONTROL}
# What `return {};` would not change.
EMPTY_RETURNS = {"return {};", "return 0;", "return false;", "return nullptr;", "return std::nullopt;"}

# A fault that concerns the tokens start .. end - 1. Its form: "expression" (`code` replaces it), "argument",
# "statement" (left out), "before" or "after" (`code` is put there). `line` is where a reader looks for it.
Fault = collections.namedtuple("Fault", "path line kind change form start end code key")


class Source:
    """The tokens of a C++ file; `before` is the space, comments and directives in front of each."""

    def __init__(self, root, path):
        self.path = path
        text = (root / path).read_text()
        self.lines = text.split("\n")
        self.text, self.before, self.line = [], [], []
        skipped = ""
        for match in TOKEN.finditer(text):
            if match["text"] is None:
                skipped += match[0]
                continue
            self.text.append(match[0])
            self.before.append(skipped)
            self.line.append(text.count("\n", 0, match.start()) + 1)
            skipped = ""
        self.rest = skipped
        self.find_partners()
        self.find_blocks()
        self.find_fixed()

    def find_partners(self):
        self.partner, self.parent, stack = {}, [], []
        for i, text in enumerate(self.text):
            if text in ")]}" and stack:
                self.partner[i] = stack.pop()
                self.partner[self.partner[i]] = i
            self.parent.append(stack[-1] if stack else None)
            if text in "([{":
                stack.append(i)

    def find_blocks(self):
        """What every { opens: "namespace", "type", "enum", "body" or "list"."""
        self.block = {}
        for i, text in enumerate(self.text):
            if text != "{":
                continue
            last = self.text[i - 1] if i else ";"
            spaced = self.before[i] and (last in {")", ">", "]", "}", ";", "{", ":", "else", "do", "try", '"C"'} or
                                         re.fullmatch(r"\w+", last)) and last != "return"
            if last in "{," and self.block.get(self.parent[i]) == "list" or not spaced:
                self.block[i] = "list"
                continue
            head = self.text[self.statement_start(i):i]
            kinds = {"namespace": "namespace", "extern": "namespace", "enum": "enum", "class": "type", "struct": "type",
                     "union": "type"}
            self.block[i] = next((kinds[word] for word in head if word in kinds and "(" not in head), "body")

    def statement_start(self, i):
        while i > 0 and self.text[i - 1] not in {";", "{", "}"} and (i - 1 != self.parent[i]):
            i = self.partner[i - 1] if self.text[i - 1] in ")]" else i - 1
        return i

    def end_of(self, i, stops):
        """The first token from i on, on its level, that is one of `stops` or closes the level."""
        while i < len(self.text) and self.text[i] not in stops and self.text[i] not in ")]}":
            i = self.partner[i] + 1 if self.text[i] in "([{" else i + 1
        return i

    def find_fixed(self):
        """Tokens that must stay compile-time constants, and constexpr variables, which may become const."""
        self.fixed, self.variables = set(), []
        for i, text in enumerate(self.text):
            if text in {"static_assert", "alignas", "decltype", "sizeof", "noexcept"} and self.text[i + 1] == "(":
                self.fixed.update(range(i, self.partner[i + 1]))
            elif text in {"using", "typedef", "extern"}:
                self.fixed.update(range(i, self.end_of(i, {";"})))
            elif text == "case":
                self.fixed.update(range(i, self.end_of(i, {":"})))
            elif text == "[" and self.text[i + 1] == "[" or self.block.get(i) == "enum":
                self.fixed.update(range(i, self.partner[i]))
            elif text == "<" and not self.is_binary(i):
                self.fixed.update(range(i, self.end_of_template(i)))
            elif text == "constexpr" and self.text[i - 1] == "if":
                self.fixed.update(range(i, self.partner[i + 1]))
            elif text == "constexpr":
                stop = self.end_of(i, {"=", "{", "(", ";"})
                end = self.end_of(i, {";", "{"} if self.text[stop] == "(" else {";"})
                if self.text[stop] == "(":  # a function
                    self.fixed.update(range(i, self.partner.get(end, end)))
                elif "char" not in self.text[i:stop]:
                    self.variables.append((i, end))

    def end_of_template(self, i):
        depth = 0
        for j in range(i, len(self.text)):
            if self.text[j] in {"<", ">", ">>"} and not (self.text[j] == "<" and self.is_binary(j)):
                depth += {"<": 1, ">": -1, ">>": -2}[self.text[j]]
            if depth <= 0 or self.text[j] in {";", "{"}:
                return j
        return i

    def is_binary(self, i):
        """The formatter sets spaces around binary operators, and around no others of the same spelling."""
        return bool(self.before[i]) and i + 1 < len(self.text) and bool(self.before[i + 1])

    def level(self, i):
        text = self.text[i]
        if text in {"return", "throw", "else", "do", "case"} or text in "([{;":
            return -1
        if text in PRECEDENCE and (text in ",;:?=" or self.is_binary(i)):
            return PRECEDENCE[text]
        return CALL

    def expression(self, i, level):
        """The range of tokens around i that operators of at least this precedence hold together."""
        start = i
        while start > 0:
            j = start - 1
            if self.text[j] in ")]}":
                j = self.partner[j]
                if self.block.get(j, "list") != "list" or self.text[j] == "(" and self.text[j - 1] in CONTROL:
                    break
            elif self.level(j) < level:
                break
            start = j
        end = i + 1
        while end < len(self.text) and self.text[end] not in ")]};":
            if self.text[end] in "([{":
                end = self.partner[end]
            elif self.level(end) < level:
                break
            end += 1
        return start, end

    def flat(self, start, end, changes={}):
        """Tokens on one line, some of them replaced."""
        return "".join((" " if self.before[i] and i > start else "") + changes.get(i, self.text[i])
                       for i in range(start, end))

    def statement_end(self, i):
        """The end of the statement that starts with token i and ends with a semicolon, or nothing."""
        last = self.text[i - 1]
        starts = self.block.get(self.parent[i]) == "body" and self.text[i] not in "{}" and (
            last in {";", "else", "do"} or i - 1 == self.parent[i] or
            last == "}" and self.block.get(self.partner[i - 1]) == "body" or
            last == ")" and self.text[self.partner[i - 1] - 1] in CONTROL)
        end = self.end_of(i, {";"}) if starts else len(self.text)
        return end + 1 if end < len(self.text) and self.text[end] == ";" else None


def changed_number(text):
    match = NUMBER.fullmatch(text.replace("'", ""))
    if not match:
        return None
    if "." in match[1] or "e" in match[1].lower():
        return repr(float(f"{float(match[1]) * 1.1 or 0.1:.12g}")) + match[2]
    return str(int(match[1]) + max(1, int(match[1]) // 10)) + match[2]


def operator_kind(operator):
    return "comparison" if operator[0] in "<>=!" else "logic" if operator[0] in "&|" else "arithmetic"


def token_faults(source):
    """(token, kind, change, form, start, end, code) of the faults inside expressions."""
    for i, text in enumerate(source.text[:-1]):
        following = source.text[i + 1]
        if i in source.fixed:
            continue
        if text in OPERATORS and source.is_binary(i):
            start, end = source.expression(i, PRECEDENCE[text])
            changed = source.flat(start, end, {i: OPERATORS[text]})
            yield i, operator_kind(text), f"{text} to {OPERATORS[text]}", "expression", start, end, changed
        elif text in CALLS and following == "(" and source.text[i - 1] in {"::", ".", "->"}:
            start, end = source.expression(i, CALL)
            changed = source.flat(start, end, {i: CALLS[text]})
            yield i, "call", f"{text} to {CALLS[text]}", "expression", start, end, changed
        elif text in {"true", "false"}:
            changed = "false" if text == "true" else "true"
            yield i, "bool", f"{text} to {changed}", "expression", i, i + 1, changed
        elif changed_number(text):
            yield i, "number", f"{text} to {changed_number(text)}", "expression", i, i + 1, changed_number(text)
        elif text in {"if", "while"} and following == "(" or text == "?":
            start, end = source.expression(i - 1, PRECEDENCE["||"]) if text == "?" else (i + 2, source.partner[i + 1])
            yield i, "condition", "negated", "expression", start, end, f"!({source.flat(start, end)})"
        elif text in {"(", ","} and source.parent[i + 1] and source.text[source.parent[i + 1]] == "(":
            end = source.end_of(i + 1, {","})
            name = source.flat(i + 1, end)
            if source.text[source.parent[i + 1] - 1] not in CONTROL and ARGUMENT.fullmatch(name):
                yield i + 1, "argument", f"{name} to 0 or empty", "argument", i + 1, end, ""


def statement_faults(source):
    """Likewise of those that concern whole statements."""
    for i, text in enumerate(source.text):
        if i in source.fixed:
            continue
        if source.block.get(i) == "body" and source.block.get(source.parent[i], "namespace") in {"namespace", "type"}:
            head = source.text[source.statement_start(i):i]
            # One that never returns cannot: the compiler takes that for granted.
            if "void" in head[:head.index("(") if "(" in head else 0] and "noreturn" not in head:
                yield i, "early return", "return at the start", "after", i, i + 1, "return;"
        end = source.statement_end(i)
        if not end:
            continue
        code = source.flat(i, end)
        if text == "return" and code in EMPTY_RETURNS:
            continue
        if text == "return" and code != "return;":
            yield i, "return", "an empty value returned", "before", i, end, "return {};"
        elif text in {"return", "break", "continue", "throw"} or (
                text not in NO_EXPRESSION and not DECLARATION.match(code) and end - i > 2):
            yield i, "statement", "left out", "statement", i, end, ""


def find_faults(source, seed):
    """All faults of a source; their keys, by which they are drawn, depend on the seed and the line's text."""
    seen = collections.Counter()
    for token, kind, change, *place in itertools.chain(token_faults(source), statement_faults(source)):
        start, end = place[1:3]
        if any("#" in before for before in source.before[start + 1:end]):
            continue  # a directive in the middle
        line = source.line[token]
        name = f"{seed} {source.path} {source.lines[line - 1].strip()} {kind} {change}"
        seen[name] += 1
        key = hashlib.sha256(f"{name} {seen[name]}".encode()).hexdigest()
        yield Fault(source.path, line, kind, change, *place, key)


def rewrite(source, faults):
    """The source with faults [(id, fault)] behind their switches, line by line where it was."""
    regions = collections.defaultdict(list)
    for number, fault in faults:
        regions[fault.start, -fault.end, fault.form != "statement", fault.form].append((number, fault))
    regions = sorted(regions.items())
    text = list(source.text)
    for start, end in source.variables:
        if any(start <= fault.start < end for _, fault in faults):
            text[start] = "const"

    def emit(start, end, waiting):
        out, i = "", start
        while i < end:
            here = next((each for each in waiting if each[0][0] == i and -each[0][1] <= end), None)
            if here is None:
                out += source.before[i] + text[i]
                i += 1
                continue
            (_, stop, _, form), members = here
            within = [each for each in waiting if i <= each[0][0] and each[0][1] >= stop and each is not here]
            body = emit(i, -stop, within)[len(source.before[i]):]
            out += source.before[i] + wrap(form, members, body)
            i = -stop
        return out

    return emit(0, len(text), regions) + source.rest


def wrap(form, members, body):
    number, fault = members[0]
    if form == "statement":
        return f"{{ if (!::sotta_mutant({number})) {{ {body} }} }}"
    if form == "before":
        return f"{{ if (::sotta_mutant({number})) {fault.code} {body} }}"
    if form == "after":
        return f"{body} if (::sotta_mutant({number})) {fault.code}"
    if form == "argument":
        return f"::sotta_or_empty({number}, {body})"
    return "(" + "".join(f"::sotta_mutant({n}) ? ({f.code}) : " for n, f in members) + f"({body}))"


