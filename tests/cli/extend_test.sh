# A method, a scenario and a corruption from outside the library
# (tests/cli/sotta_extended.cpp): listed, run, recorded and reported as the
# library's own are.
. "$SOTTA_ROOT/tests/cli/expect.sh"
. "$SOTTA_ROOT/tests/cli/tiny_bench.sh"
make_tiny_data tiny 48
extended() { "$(dirname "$SOTTA_BIN")/sotta_extended" "$@"; }
bench_extended() { extended "${tiny_data[@]}" --window 16 "$@"; }

# The program lists them; the one without them does not.
run extended info
expect_code 0
grep -q '^methods  .*, follow_statistics$' stdout.txt || give_up 'expected the method'
grep -q '^scenarios  .*, stripes$' stdout.txt || give_up 'expected the scenario'
grep -q '^corruptions  .*, inverted$' stdout.txt || give_up 'expected the corruption'
run sotta info
expect_code 0
! grep -qE 'follow_statistics|stripes|^corruptions .*inverted' stdout.txt || give_up 'expected the names of the library alone'

# They run beside the library's own, with options and under attack.
run bench_extended --method source,follow_statistics --scenario benign,attack,stripes \
  --corruption inverted,fog --set attack_steps=2 --out runs
expect_code 0
expect_output '12 of 12 cells recorded'
run bench_extended --variant 'slow: follow_statistics rate=0.01' --scenario stripes \
  --corruption inverted --out runs
expect_code 0
run bench_extended --preset paper --method follow_statistics --scenario attack \
  --corruption inverted --set attack=adaptive --set attack_steps=2 --out traces
expect_code 0

# Records say what they are called. Stripes count as foreign, an inverted image
# is another one, and the method's update changes its answers.
python3 - runs/records.jsonl <<'PYTHON' || give_up 'expected these records'
import json, sys
runs = {}
for run in map(json.loads, open(sys.argv[1])):
    runs[run["method"], run["variant"], run["scenario"], run["corruption"]] = run
    assert run["method_label"] == {"source": "Source", "follow_statistics": "Follow"}[run["method"]]
    assert run["scenario_label"] == {"benign": "Benign", "attack": "Attack", "stripes": "Stripes"}[run["scenario"]]
    assert run["corruption_label"] == {"fog": "Fog", "inverted": "Invert."}[run["corruption"]]
    assert run["foreign"] == (0 if run["scenario"] == "benign" else 48), run["foreign"]
    assert ("attack_eps" in run["options"]) == (run["scenario"] == "attack")
def confidences(method, variant, scenario, corruption):
    return runs[method, variant, scenario, corruption]["series"]["confidence_samples"]
source = confidences("source", "", "stripes", "inverted")
assert source != confidences("source", "", "stripes", "fog")
assert source != confidences("follow_statistics", "", "stripes", "inverted")
assert runs["follow_statistics", "slow", "stripes", "inverted"]["options"]["rate"] == 0.01
assert runs["follow_statistics", "", "stripes", "inverted"]["options"]["rate"] == 0.1
PYTHON

# The report shows their labels, whichever program makes it.
run extended report runs --out report --format md,svg
expect_code 0
grep -qF '| Method | Benign | Attack | Stripes | Average |' report/report.md ||
  give_up 'expected the scenario with its label'
grep -qF '| Method | Fog | Invert. | Average |' report/report.md ||
  give_up 'expected the corruption with its label'
grep -q '^| Follow |' report/report.md || give_up 'expected the method with its label'
grep -qF 'Noisy (mean of Attack, Stripes)' report/figures/fashion-mnist-clean-scenarios.svg ||
  give_up 'expected the scenario among the noisy ones'
run sotta report runs --out other --format md,svg
expect_code 0
diff -r report other >/dev/null || give_up 'expected the same report of the library alone'

# What is not registered is unknown.
run sotta "${tiny_data[@]}" --method follow_statistics --scenario benign --corruption none --out none
expect_code 2
expect_error 'follow_statistics'
