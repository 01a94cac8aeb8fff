#!/usr/bin/env bash
# Builds the image and starts it: with Docker when an engine answers, else with buildah (as root), which needs neither
# an engine nor a registry: in place of the base image it takes Debian from debootstrap with this project's own Node.
# That stand-in shows that the Dockerfile's steps work, not that the base image is there. On top of the worker's base
# image it builds examples/worker-image. With buildah and the addresses of servers in CHECK_KAFKA, CHECK_REDIS and
# CHECK_POSTGRES each service also runs, becomes ready, runs a workflow of that image, and ends at SIGTERM
# (deploy/check/services.sh). Exits with 1 on a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# npm's own place is asked for below; with this project's Node first in PATH it would be that one's.
PATH=${PATH//"$PWD/node_modules/.bin:"/}

image=tidemark:check
worker_base=tidemark-worker:check
example=my-worker:check
config_exit_code=78
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT

report() { printf '%-8s %s\n' "$1" "$2"; }
fail() {
  report FAILED "$1"
  sed 's/^/         /' "$output/log"
  exit 1
}

# Without settings a service says which are missing, as one JSON line, and ends with the code for that.
expect_start() { # command that runs the image…
  local code=0
  "$@" coordinator >"$output/log" 2>&1 || code=$?
  [[ $code == "$config_exit_code" ]] || fail "image: exit code $code without settings, not $config_exit_code"
  grep -q '"code":"setting-invalid"' "$output/log" || fail 'image: no line about the missing settings'
  "$@" tidemark --help >"$output/log" 2>&1 || fail 'image: tidemark --help'
  "$@" sh -c '[ "$(id -u)" = 1000 ] && ! touch /app/file 2>/dev/null && touch "$LEDGER_DIR/file"' >"$output/log" 2>&1 ||
    fail 'image: not the user 1000, or /app can be written, or the ledger can not'
  # As OpenShift's restricted-v2 runs it: any user, of group 0.
  "${any_user[@]}" tidemark --help >"$output/log" 2>&1 || fail 'image: tidemark --help as any user'
  "${any_user[@]}" sh -c '[ "$(id -u):$(id -g)" = 1000680000:0 ] && ! touch /app/file 2>/dev/null && touch "$LEDGER_DIR/file2" "$HOME/file"' \
    >"$output/log" 2>&1 || fail 'image: any user of group 0 can write /app, or can not write the ledger or its home'
  "$@" sh -c '[ ! -e /app/node_modules/node ] && [ ! -e /app/node_modules/vitest ]' >"$output/log" 2>&1 ||
    fail 'image: holds dev dependencies'
  report ok 'deploy/Dockerfile: built and started'
}

# As inspect_image tells it, of either engine.
expect_worker() {
  local config
  config=$(inspect_image "$example" | tr -d ' \n')
  for part in '"Cmd":["worker"]' '"User":"1000:1000"' 'TIDEMARK_WORKFLOWS=./workflows/greeting.ts' '"Test":["CMD","tidemark-entrypoint","healthy"]'; do
    grep -qF "$part" <<<"$config" || { echo "$config" >"$output/log"; fail "examples/worker-image: no $part"; }
  done
  report ok 'examples/worker-image: built on the base image of workers'
}
report_sizes() {
  local name
  for name in "$image" "$worker_base" "$example"; do report size "$name: $(size_of "$name")"; done
}

if docker version >/dev/null 2>&1; then
  build() { # arguments of a build…
    docker build "$@" >"$output/log" 2>&1 || fail "docker build $*"
  }
  build --file deploy/Dockerfile --tag "$image" .
  build --file deploy/Dockerfile --target worker-base --tag "$worker_base" .
  build --build-arg "WORKER_BASE=$worker_base" --tag "$example" examples/worker-image
  inspect_image() { docker image inspect "$1"; }
  size_of() { docker image ls --format '{{.Size}}' "$1"; }
  any_user=(docker run --rm --read-only --tmpfs /tmp --user 1000680000:0 --volume /var/lib/tidemark/ledger "$image")
  expect_start docker run --rm --read-only --volume /var/lib/tidemark/ledger "$image"
  expect_worker
  report_sizes
  report skipped 'image: the services were not run, which is done in containers of buildah alone; docker compose up runs them with Docker'
  exit
fi

for program in buildah debootstrap; do
  if [[ $(id -u) != 0 ]] || ! command -v "$program" >/dev/null; then
    report skipped "image: no Docker engine answers, and without one it takes root and $program"
    exit
  fi
done
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
base=$(sed -n 's/^FROM \(node:[^ ]*\) AS base$/\1/p' deploy/Dockerfile)
if ! buildah inspect --type image "docker.io/library/$base" >/dev/null 2>&1; then
  root=$output/root
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >"$output/log" 2>&1 || fail 'image: debootstrap'
  cp node_modules/node/bin/node "$root/usr/local/bin/node"
  mkdir -p "$root/usr/local/lib/node_modules"
  cp -rL "$(npm root --global)/npm" "$root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  # What this machine trusts, and how npm reaches its registry here.
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  mkdir -p "$root/usr/local/etc"
  npmrc=$(npm config get globalconfig)
  if [[ -f $npmrc ]]; then cp "$npmrc" "$root/usr/local/etc/npmrc"; fi
  chroot "$root" groupadd --gid 1000 node
  chroot "$root" useradd --uid 1000 --gid 1000 --create-home node
  container=$(buildah from scratch)
  buildah copy --quiet "$container" "$root" / >/dev/null
  buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  buildah commit --quiet "$container" "docker.io/library/$base" >/dev/null
  buildah rm "$container" >/dev/null
fi
# In Docker's format, which alone has health checks.
build() { # arguments of a build…
  buildah build --format docker --pull-never --network host "$@" >"$output/log" 2>&1 || fail "buildah build $*"
}
build --layers --file deploy/Dockerfile --tag "$image" .
build --layers --file deploy/Dockerfile --target worker-base --tag "$worker_base" .
build --build-arg "WORKER_BASE=localhost/$worker_base" --tag "$example" examples/worker-image
container=$(buildah from --pull-never "localhost/$image")
worker=$(buildah from --pull-never "localhost/$example")
trap 'buildah rm "$container" "$worker" >/dev/null; rm -rf "$output"' EXIT
any_user=(buildah run --isolation chroot --user 1000680000:0 "$container" -- tidemark-entrypoint)
expect_start buildah run --isolation chroot "$container" -- tidemark-entrypoint
inspect_image() { buildah inspect --type image "localhost/$1"; }
size_of() { buildah images --format '{{.Size}}' "localhost/$1"; }
expect_worker
report_sizes
deploy/check/services.sh "$container" "$worker"
