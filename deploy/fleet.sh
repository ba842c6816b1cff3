#!/bin/bash
# deploy/fleet.sh [PROGRAM]: three servers, Redis, HAProxy and, where it is installed, Prometheus on
# loopback, as processes of this shell, without containers; Ctrl-C ends them. State is in ./sotta-fleet.
#
#   http://127.0.0.1:8000   HAProxy, what clients use
#   http://127.0.0.1:8001   to 8003, the servers
#   redis://127.0.0.1:6380  Redis, on disk (appendonly)
#   http://127.0.0.1:9090   Prometheus, with the rules of deploy/prometheus
#
# FIRST_PORT, REDIS_PORT and PROMETHEUS_PORT change these.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/release/bin/sotta}
first=${FIRST_PORT:-8000} redis_port=${REDIS_PORT:-6380} prometheus_port=${PROMETHEUS_PORT:-9090}
state=$PWD/sotta-fleet
mkdir -p "$state/redis" "$state/prometheus"

for tool in redis-server haproxy "$program"; do
  command -v "$tool" >/dev/null || { echo "fleet: $tool is not there" >&2; exit 2; }
done
started=()
finish() {
  # Servers first: they save their streams and give them back.
  local pid
  for ((i = ${#started[@]} - 1; i >= 0; --i)); do
    pid=${started[$i]}
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
}
# The files of deploy/ with these ports.
with_ports() {
  sed -E "s|127.0.0.1:800([0-3])|127.0.0.1:%\\1|; s|127.0.0.1:800([0-3])|127.0.0.1:%\\1|g; s|RULES|$root/deploy/prometheus/alerts.yml|" "$1" |
    sed "s|:%0|:$first|g; s|:%1|:$((first + 1))|g; s|:%2|:$((first + 2))|g; s|:%3|:$((first + 3))|g"
}
trap finish EXIT
trap 'exit 0' INT TERM

# Ctrl-C goes to all processes of the terminal's session. These two have others: servers save to
# Redis when they end, and what they answer goes through HAProxy.
setsid redis-server --port "$redis_port" --bind 127.0.0.1 --dir "$state/redis" --save '' --appendonly yes >"$state/redis.log" &
started+=($!)
with_ports "$root/deploy/haproxy/haproxy.cfg" >"$state/haproxy.cfg"
setsid haproxy -db -f "$state/haproxy.cfg" >"$state/haproxy.log" 2>&1 &
started+=($!)
until (exec 3<>"/dev/tcp/127.0.0.1/$redis_port") 2>/dev/null; do sleep 0.1; done
if command -v prometheus >/dev/null; then
  with_ports "$root/deploy/prometheus/fleet.yml" >"$state/prometheus.yml"
  prometheus --config.file="$state/prometheus.yml" --storage.tsdb.path="$state/prometheus" \
    --web.listen-address="127.0.0.1:$prometheus_port" >"$state/prometheus.log" 2>&1 &
  started+=($!)
fi
for port in $((first + 1)) $((first + 2)) $((first + 3)); do
  "$program" serve --listen "127.0.0.1:$port" --advertise "http://127.0.0.1:$port" \
    --state "redis://127.0.0.1:$redis_port/0" --drain-seconds 2 >"$state/server$port.log" 2>&1 &
  started+=($!)
done
echo "fleet: http://127.0.0.1:$first, logs in $state; Ctrl-C ends it"
wait -n  # one that ends by itself ends all
