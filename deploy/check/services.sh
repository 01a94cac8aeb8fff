#!/usr/bin/env bash
# Runs the services of built images against real servers, as their containers would be: each becomes ready, a worker of
# examples/worker-image does a workflow, and each ends with 0 at SIGTERM, not ready meanwhile. Called by
# deploy/check/image.sh with two containers of buildah: that of the services, that of the worker.
# CHECK_KAFKA (host:port), CHECK_REDIS and CHECK_POSTGRES (URLs) are the servers, of which the
# database is empty; `npm run cluster` prints such addresses. Without them it is skipped, and says so.
set -euo pipefail

services=$1
worker=$2
report() { printf '%-8s %s\n' "$1" "$2"; }
if [[ -z ${CHECK_KAFKA:-} || -z ${CHECK_REDIS:-} || -z ${CHECK_POSTGRES:-} ]]; then
  report skipped 'image: the services were not run, since CHECK_KAFKA, _REDIS and _POSTGRES are not set'
  exit
fi

output=$(mktemp -d)
declare -A jobs=()
finish() {
  for job in "${jobs[@]}"; do kill -KILL "$job" 2>/dev/null || true; done
  rm -rf "$output"
}
trap finish EXIT
fail() {
  report FAILED "$1"
  sed 's/^/         /' "$output"/*.log
  exit 1
}

# A container of this isolation shares the network of the machine, so each service has ports of its own.
declare -A ports=([coordinator]=17071 [worker]=17072 [compactor]=17073)
environment=(
  --env "TIDEMARK_KAFKA_BROKERS=$CHECK_KAFKA" --env "TIDEMARK_REDIS_URL=$CHECK_REDIS"
  --env "TIDEMARK_POSTGRES_URL=$CHECK_POSTGRES" --env "TIDEMARK_TOPIC=check-image-$$"
  --env TIDEMARK_PARTITIONS=4 --env TIDEMARK_ENCRYPTION=off --env TIDEMARK_AUTH=off --env TIDEMARK_API_PORT=17070
)
run() { # container, its health port, command…
  local container=$1 port=$2
  shift 2
  buildah run --isolation chroot "${environment[@]}" --env "TIDEMARK_HEALTH_LISTEN=127.0.0.1:$port" "$container" -- \
    tidemark-entrypoint "$@"
}
healthy() { run "$1" "$2" healthy >"$output/healthy" 2>&1; }
container_of() { if [[ $1 == worker ]]; then echo "$worker"; else echo "$services"; fi; }

for name in coordinator worker compactor; do
  run "$(container_of "$name")" "${ports[$name]}" "$name" >"$output/$name.log" 2>&1 &
  jobs[$name]=$!
done
for name in coordinator worker compactor; do
  for ((second = 0; ; second++)); do
    if healthy "$(container_of "$name")" "${ports[$name]}"; then break; fi
    if ((second == 90)); then fail "image: $name is not ready: $(cat "$output/healthy")"; fi
    sleep 1
  done
  report ok "image: $name is ready"
done

input='{"names":["Ada","Grace"]}'
run "$worker" 0 tidemark run greeting --id hello --input "$input" >"$output/run.log" 2>&1 || fail 'image: tidemark run greeting'
grep -q 'Hello Grace' "$output/run.log" || fail 'image: the workflow did not say its output'
report ok 'image: a workflow of examples/worker-image ran on its worker'

# The process itself, which is the first of a container elsewhere: here buildah stands above it.
process_of() { # service
  local pid
  for pid in $(pgrep --full "^node /app/services/$1/src/main.ts\$"); do
    # This check's own: another that runs here has another topic.
    if tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "TIDEMARK_TOPIC=check-image-$$"; then echo "$pid"; fi
  done
}
for name in worker compactor coordinator; do
  pid=$(process_of "$name")
  [[ -n $pid ]] || fail "image: the process of $name is not there"
  kill -TERM "$pid"
  code=0
  wait "${jobs[$name]}" || code=$?
  [[ $code == 0 ]] || fail "image: $name ended with $code at SIGTERM"
  report ok "image: $name ends with 0 at SIGTERM"
  unset "jobs[$name]"
done
