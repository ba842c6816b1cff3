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

# The fleet on loopback: a stream that one server makes is listed by all, and nothing is left running.
if command -v redis-server >redis.txt && command -v haproxy >haproxy.txt; then
  free_port() { python3 "$SOTTA_ROOT/tests/support/free_port.py" "$@"; }
  export FIRST_PORT REDIS_PORT PROMETHEUS_PORT
  FIRST_PORT=$(free_port 4) REDIS_PORT=$(free_port) PROMETHEUS_PORT=$(free_port)
  "$deploy/fleet.sh" "$SOTTA_BIN" >fleet.txt 2>&1 </dev/null &
  fleet=$!
  trap 'kill $fleet; wait $fleet; cd / && rm -rf "$scratch"' EXIT
  for port in $FIRST_PORT $((FIRST_PORT + 1)) $((FIRST_PORT + 2)) $((FIRST_PORT + 3)); do
    for ((i = 0; i < 600; ++i)); do
      ! curl -sf -o ready.txt "http://127.0.0.1:$port/v2/health/ready" || break
      sleep 0.1
    done
  done
  # HAProxy asks the servers by itself, and has a 503 of its own until then.
  for ((i = 0; i < 600; ++i)); do
    run curl -s --fail-with-body -X PUT -d '{}' "http://127.0.0.1:$FIRST_PORT/v2/models/fashion/streams/camera-7"
    [ "$last_code" != 0 ] || break
    sleep 0.1
  done
  expect_code 0
  for server in 0 1 2 3; do
    run sotta streams list --server "http://127.0.0.1:$((FIRST_PORT + server))"
    expect_code 0
    expect_output camera-7
  done
  kill $fleet
  code=0
  wait $fleet || code=$?
  trap 'cd / && rm -rf "$scratch"' EXIT
  last_command="deploy/fleet.sh, ended by SIGTERM" last_code=$code
  expect_code 0
  for port in $FIRST_PORT $((FIRST_PORT + 1)) $((FIRST_PORT + 2)) $((FIRST_PORT + 3)) $REDIS_PORT; do
    run curl -s "http://127.0.0.1:$port"
    expect_code 7  # nobody listens
  done
else
  echo 'not run, as Redis or HAProxy is not there: deploy/fleet.sh'
fi
