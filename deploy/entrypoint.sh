#!/bin/sh
# Owns which program of the image runs, by the first argument: a service, or the `tidemark` command with its own
# arguments; anything else is run as it is. `exec` throughout: signals reach the program, and its exit code is the
# container's (docs/deploy.md).
set -eu

program=${1:-}
case "$program" in
  coordinator | worker | compactor)
    # As SERVICE_NODE_FLAGS of libs/operate/host: a heap that isn't cleared before gigabytes would outgrow the container. What
    # the user adds comes later and wins.
    export NODE_OPTIONS="--max-semi-space-size=16 --max-old-space-size=${SERVICE_HEAP_MB:-224} ${NODE_OPTIONS:-}"
    exec node "/app/services/$program/src/main.ts"
    ;;
  tidemark)
    shift
    exec node /app/libs/operate/cli/bin/tidemark.js "$@"
    ;;
  # Whether the service that runs in the same container is ready: the image's HEALTHCHECK.
  healthy)
    exec node --max-old-space-size=16 /app/deploy/healthy.mjs
    ;;
  '')
    echo 'expected a program: coordinator, worker, compactor, or tidemark with its arguments' >&2
    exit 64
    ;;
  *) exec "$@" ;;
esac
