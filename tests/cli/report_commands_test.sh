# The commands that a page tells are those that made its runs: each finds its cells recorded.
. "$SOTTA_ROOT/tests/cli/expect.sh"
. "$SOTTA_ROOT/tests/cli/tiny_bench.sh"

make_tiny_data tiny 48
run sotta "${tiny_data[@]}" --corruption none --window 16 --seeds 0,1 --scenario noise,attack --out runs/a \
  --method tent --variant "it's \$HOME: sotta memory=fifo odin_threshold=0.5" --set attack=adaptive --foreign-count 20 --burst 4
expect_code 0
run sotta "${tiny_data[@]}" --corruption fog,snow --severity 3 --seeds 2 --scenario benign --preset paper --window 16 --out runs/b \
  --sweep 'tent learning_rate=0.01,0.02' --whole-windows true --set guard=rollback --order dirichlet --concentration 0.5
expect_code 0
run sotta report runs --out page --format html
expect_code 0
cat >commands.py <<'PYTHON'
import html, re, shlex, subprocess, sys
page = open("page/report.html", encoding="utf-8").read()
commands = {html.unescape(f"{row} {flags}") for row, cells in re.findall(r'<tr data-c="([^"]*)">(.*?)</tr>', page, re.S)
            for flags in re.findall(r'<td[^>]* data-s="[^"]*"(?: data-f="([^"]*)")?', cells)}
assert len(commands) >= 8, commands
for command in sorted(commands):
    words = shlex.split(command)
    assert words[0] == "sotta", command
    place = words.index("--model") + 1
    words[place] = sys.argv[2] + "/models/" + words[place]
    out = "runs/b" if "--preset" in words else "runs/a"
    done = subprocess.run([sys.argv[1], *words[1:], "--data", "tiny", "--threads", "1", "--out", out], capture_output=True, text=True)
    found = re.search(r"(\d+) of (\d+) cells recorded, (\d+) of them before", done.stdout)
    assert found and len(set(found.groups())) == 1, (command, done.stdout, done.stderr)
PYTHON
run python3 commands.py "$SOTTA_BIN" "$SOTTA_ROOT"
expect_code 0
