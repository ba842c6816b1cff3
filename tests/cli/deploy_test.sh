# The files of deploy/, by the programs that read them, where those are installed; Kubernetes' schemas
# come from npm: npm install --prefix build/node kubernetes-models js-yaml
. "$SOTTA_ROOT/tests/cli/expect.sh"
deploy=$SOTTA_ROOT/deploy

if command -v haproxy >haproxy.txt; then
  run haproxy -c -f "$deploy/haproxy/haproxy.cfg"
  expect_code 0
fi

if command -v promtool >promtool.txt; then
  sed "s|RULES|$deploy/prometheus/alerts.yml|" "$deploy/prometheus/fleet.yml" >fleet.yml
  run promtool check config fleet.yml
  expect_code 0
fi

# Of the unit everything but its man page, which is not installed here.
if command -v systemd-analyze >systemd.txt; then
  sed "/^Documentation=/d; s|^ExecStart=sotta|ExecStart=$SOTTA_BIN|" "$deploy/systemd/sotta.service" >sotta.service
  run systemd-analyze verify ./sotta.service
  expect_code 0
fi

# One --state, the environment's, and all that comes behind, in the unit and in the container.
mkdir bin
printf '#!/bin/sh\nprintf "[%%s]" "$@"\n' >bin/sotta
chmod +x bin/sotta
cat >entry.py <<'PYTHON'
import json, re, subprocess, sys
text = open(sys.argv[1]).read()
command = json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.M)[1])
subprocess.run(command + sys.argv[2:], check=True)
PYTHON
run env PATH="$PWD/bin:$PATH" SOTTA_STATE=redis://r:1/0 python3 entry.py "$deploy/Containerfile" --advertise 'a b'
expect_code 0
expect_output '[serve][--state][redis://r:1/0][--advertise][a b]'
unit_line=$(sed -n 's/^ExecStart=//p' "$deploy/systemd/sotta.service")
run env PATH="$PWD/bin:$PATH" SOTTA_STATE=/var/lib/sotta SOTTA_SERVE='--tokens t' bash -c "$unit_line"
expect_output '[serve][--state][/var/lib/sotta][--tokens][t]'

modules=$SOTTA_ROOT/build/node/node_modules
if command -v node >node.txt && [ -d "$modules/kubernetes-models" ]; then
  manifest=$deploy/kubernetes/fleet.yaml
  run node "$SOTTA_ROOT/tests/cli/deploy_manifests.mjs" "$modules" "$manifest"
  expect_code 0
  sed 's/replicas: 3/replicas: three/' "$manifest" >wrong.yaml
  run node "$SOTTA_ROOT/tests/cli/deploy_manifests.mjs" "$modules" wrong.yaml
  expect_code 1
  expect_error 'StatefulSet sotta: data/spec/replicas must be integer'
else
  echo 'not checked, as node or kubernetes-models is not there: deploy/kubernetes'
fi
