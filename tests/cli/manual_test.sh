# Man pages and completions have every verb and every flag that the program's own
# help has, and nothing else.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta write-manual manual
expect_code 0
expect_no_output

# It is no command for people.
run sotta --help
! grep -q write-manual stdout.txt || give_up 'expected no write-manual'

cat >compare.py <<'PYTHON'
import pathlib, re, subprocess, sys

def helps(*words):
    """Verbs and flags of a command, as its help says them."""
    text = subprocess.run([sys.argv[1], *words, "--help"], capture_output=True, text=True, check=True).stdout
    verbs = text.split("\nSubcommands:\n")[1] if "\nSubcommands:\n" in text else ""
    flags = set()
    for line in text.split("\nSubcommands:\n")[0].splitlines():
        found = re.match(r"  ((-\w,)?--[\w-]+)", line)
        if found:
            flags |= set(found[1].split(","))
    return re.findall(r"^  ([\w-]+) ", verbs, re.M), flags

def flags_in_page(page):
    plain = re.sub(r"\\f[BIR]", "", page).replace("\\-", "-")
    heads = re.findall(r"^\.TP\n(-.*)$", plain, re.M)
    return {name for head in heads for name in re.findall(r"(?:^|, )(--?[\w-]+)", head)}

def complete(line):
    """What bash offers at the end of a line."""
    script = ('source manual/sotta.bash; read -ra COMP_WORDS <<<"$1"; [[ $1 == *" " ]] && COMP_WORDS+=("");'
              'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sotta; printf "%s\n" "${COMPREPLY[@]}"')
    out = subprocess.run(["bash", "-c", script, "bash", line], capture_output=True, text=True, check=True)
    return set(out.stdout.split())

def same(what, found, wanted):
    if set(found) != set(wanted):
        sys.exit(f"{what}: missing {sorted(set(wanted) - set(found))}, beyond {sorted(set(found) - set(wanted))}")

verbs, flags = helps()
assert len(verbs) > 10, verbs
pages = {path.name: path.read_text() for path in pathlib.Path("manual/man1").iterdir()}
same("pages", pages, {"sotta.1"} | {f"sotta-{verb}.1" for verb in verbs})
same("flags of sotta.1", flags_in_page(pages["sotta.1"]), flags)
same("verbs of bash", complete("sotta "), verbs)
same("flags of bash", complete("sotta -"), flags)
zsh = pathlib.Path("manual/_sotta").read_text()
for verb in verbs:
    assert f"\\fB{verb}\\fR".replace("-", "\\-") in pages["sotta.1"], verb
    inner, flags = helps(verb)
    page = pages[f"sotta-{verb}.1"]
    below = set().union(*(helps(verb, word)[1] for word in inner)) if inner else set()
    same(f"flags of sotta-{verb}.1", flags_in_page(page), flags | below)
    same(f"flags of bash, {verb}", complete(f"sotta {verb} -"), flags)
    same(f"verbs of bash, {verb}", complete(f"sotta {verb} "), inner)
    part = zsh.split(f"\n      {verb}) _arguments")[1].split(";;")[0]
    same(f"flags of zsh, {verb}", re.findall(r"'\*?(--?[\w-]+)=?\[", part), flags)
    for word in inner:
        same(f"flags of bash, {verb} {word}", complete(f"sotta {verb} {word} -"), helps(verb, word)[1])
same("a part of a word", complete("sotta ad"), {"adapt"})
same("a part of a flag", complete("sotta adapt --state-o"), {"--state-out"})
same("a value", complete("sotta adapt --model "), set())  # bash goes on with files
PYTHON
run python3 compare.py "$SOTTA_BIN"
expect_code 0

# What a page says of a flag is what the help says.
grep -qF 'images between two updates (default: 64)' manual/man1/sotta-adapt.1 || give_up 'expected the default'
grep -qF 'safetensors, TorchScript or .pt2 (required)' manual/man1/sotta-adapt.1 || give_up 'expected what is required'

# roff and the shells have nothing to complain of.
bash -n manual/sotta.bash || give_up 'bash cannot read it'
if command -v zsh >/dev/null; then
  zsh -n manual/_sotta || give_up 'zsh cannot read it'
fi
if command -v man >/dev/null; then
  for page in manual/man1/*.1; do
    run env MANROFFSEQ= man --warnings=w -E UTF-8 -l -Tutf8 -Z "./$page"
    expect_code 0
    [ ! -s stderr.txt ] || give_up "roff warns of $page"
  done
fi

# A folder that cannot be written to is one sentence.
touch file
run sotta write-manual file/below
[ "$last_code" -ne 0 ] || give_up 'expected a failure'
[ "$(wc -l <stderr.txt)" = 1 ] || give_up 'expected one line'
