#!/usr/bin/env bash
# trim.sh FROM TO: a copy of KEDA's module with the scalers metrics-api, cpu and memory alone, without the clients of clouds: minutes to build in place of an
# hour. What it asks, computes and writes is KEDA's own code.
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
rm -rf "$2"
cp -r "$1" "$2"
chmod -R u+w "$2"
cd "$2"
find . -name '*_test.go' -delete
sed -i '/^replace .*=> \.\//d' go.mod

find pkg/scalers -maxdepth 1 -name '*.go' ! -name scaler.go ! -name metrics_api_scaler.go ! -name cpu_memory_scaler.go -delete
(cd pkg/scalers && rm -rf aws gcp kafka openstack splunk sumologic liiklus)
printf 'package scalers\n\nconst externalMetricType = "External"\n' >pkg/scalers/trimmed.go
# The resolver names constants of Azure.
constants=$(cat pkg/scalers/azure/*.go | grep -E '^\s*ServicePrincipal[A-Za-z]+Key\s+=' | sort -u)
rm pkg/scalers/azure/*.go
printf 'package azure\n\nconst (\n%s\n)\n' "$constants" >pkg/scalers/azure/constants.go
cp "$here/azure.go.txt" pkg/scalers/azure/chain.go

awk '
  /^\tswitch triggerType \{/ { inside = 1; keep = 1 }
  inside && /^\t\}/ { inside = 0 }
  inside && /^\t(case|default)/ { keep = /"(metrics-api|cpu|memory)"|default/ }
  !inside || keep
' pkg/scaling/scalers_builder.go >builder && mv builder pkg/scaling/scalers_builder.go

cd pkg/scaling/resolver
rm aws_secretmanager_handler.go azure_keyvault_handler.go gcp_secretmanager_handler.go hashicorpvault_handler.go
cp "$here/resolver.go.txt" trimmed.go
