{{/*
Owns what pools of workers are: each is the values of `worker` with its own over them; without pools there is one, named as the service. Its workers
load its own workflows, so they take the work of those definitions alone.
*/}}

{{/* Takes {root, pool, over}: the values of the pool, as YAML. Where its pods may be is its own alone, if it says so: who needs two nodes' labels gets none. */}}
{{- define "tidemark.poolValues" -}}
{{- $over := .over | default dict -}}
{{- $own := mustMergeOverwrite (deepCopy .root.Values.worker) (deepCopy $over) -}}
{{- range $place := list "nodeSelector" "affinity" -}}
{{- if hasKey $over $place -}}{{- $_ := set $own $place (get $over $place) -}}{{- end -}}
{{- end -}}
{{- toYaml $own -}}
{{- end -}}

{{/* Takes {root, pool}. */}}
{{- define "tidemark.poolName" -}}
{{- if .pool -}}{{- printf "%s-worker-%s" (include "tidemark.name" .root) .pool -}}{{- else -}}{{- printf "%s-worker" (include "tidemark.name" .root) -}}{{- end -}}
{{- end -}}

{{/* As coordinators know the pool. */}}
{{- define "tidemark.poolKey" -}}
{{- .pool | default "default" -}}
{{- end -}}

{{/* NAME=MODULE,…;NAME=…: what coordinators count by. */}}
{{- define "tidemark.poolsSetting" -}}
{{- $pools := list -}}
{{- if and (not .Values.pools) .Values.worker.workflows -}}
{{- $pools = append $pools (printf "default=%s" (nospace .Values.worker.workflows)) -}}
{{- end -}}
{{- range $pool, $over := .Values.pools -}}
{{- $own := include "tidemark.poolValues" (dict "root" $ "over" $over) | fromYaml -}}
{{- $modules := $own.workflows | nospace -}}
{{- if not $modules -}}
{{- fail (printf "pools.%s.workflows is not set, nor is worker.workflows: name the modules that its workers load." $pool) -}}
{{- end -}}
{{- $pools = append $pools (printf "%s=%s" $pool $modules) -}}
{{- end -}}
{{- join ";" $pools -}}
{{- end -}}

{{/* All modules of all pools: what can be started by name over the API. */}}
{{- define "tidemark.workflowsSetting" -}}
{{- $modules := list -}}
{{- range $pool, $over := .Values.pools -}}
{{- with ($over | default dict).workflows -}}{{- $modules = concat $modules (splitList "," (nospace .)) -}}{{- end -}}
{{- end -}}
{{- with (.Values.worker.workflows) -}}{{- $modules = concat $modules (splitList "," (nospace .)) -}}{{- end -}}
{{- uniq $modules | join "," -}}
{{- end -}}

{{/* Takes {root, part, own}. What its workers have otherwise than the others. */}}
{{- define "tidemark.poolEnv" -}}
{{- if eq .part "worker" -}}
{{- /* The ConfigMap has those of all pools, for whoever starts by name: of its own a pod loads what coordinators count it by (poolsSetting), no more. */}}
{{- with .own.workflows }}
- { name: TIDEMARK_WORKFLOWS, value: {{ nospace . | quote }} }
{{- end }}
{{- with include "tidemark.concurrency" . }}
- { name: TIDEMARK_CONCURRENCY, value: {{ . | quote }} }
{{- end }}
- { name: TIDEMARK_DRAIN_MS, value: {{ int64 .own.drainMs | quote }} }
{{- if eq .own.scaling.kind "jobs" }}
- { name: TIDEMARK_EXIT_IDLE_MS, value: {{ mul (int64 .own.scaling.jobs.exitIdleSeconds) 1000 | quote }} }
{{- end }}
{{- /* Not in the ConfigMap: there an old pod that starts again would take it for its own. */}}
- { name: TIDEMARK_BUILD, value: {{ include "tidemark.image" .root | trunc -100 | quote }} }
{{- if include "tidemark.usesClusterApi" . }}
- name: TIDEMARK_POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
{{- end }}
{{- end -}}
{{- end -}}

{{/*
Takes {own}. What its workers run at once; empty: as many as they do by themselves. One of several that a scaler makes takes what it was made for, and leaves
the rest to those that come. A HorizontalPodAutoscaler, which KEDA uses too, adds none for a tenth more than it wants: that much fits in besides.
*/}}
{{- define "tidemark.concurrency" -}}
{{- $each := int64 .own.scaling.workflowsPerWorker -}}
{{- if .own.concurrency -}}{{ int64 .own.concurrency }}
{{- else if eq .own.scaling.kind "jobs" -}}{{ $each }}
{{- else if ne .own.scaling.kind "none" -}}{{ add $each (div $each 10) }}
{{- end -}}
{{- end -}}

{{/*
Takes {root, part, own}. Not empty where pods write their own deletion cost: where that is asked for, and where nothing is said of it those of which a
scaler takes some away, as long as the policy that bounds them can be had.
*/}}
{{- define "tidemark.usesClusterApi" -}}
{{- if eq .part "worker" -}}
{{- if kindIs "invalid" .own.podDeletionCost -}}
{{- if and (has .own.scaling.kind (list "keda" "hpa")) (not (include "tidemark.noDeletionCost" .)) -}}yes{{- end -}}
{{- else if .own.podDeletionCost -}}yes{{- end -}}
{{- end -}}
{{- end -}}

{{/* Takes {root, own}. What keeps workers from writing it unless they are told to; empty: nothing. */}}
{{- define "tidemark.noDeletionCost" -}}
{{- if not .root.Values.deletionCostPolicy.enabled -}}deletionCostPolicy.enabled is false
{{- else if not (semverCompare ">=1.30-0" .root.Capabilities.KubeVersion.Version) -}}Kubernetes is older than 1.30
{{- else if eq (include "tidemark.workerAccount" .) "default" -}}workers have no account but the namespace's own
{{- end -}}
{{- end -}}

{{/* Takes {root, own}: the account of workers. With a deletion cost, too: who trusts it by its name, as clouds do, is not to be told of another. */}}
{{- define "tidemark.workerAccount" -}}
{{- (.own.serviceAccount | default dict).name | default (include "tidemark.serviceAccount" .root) -}}
{{- end -}}

{{/* The accounts of those pools' pods that write it, each once, as a JSON list. */}}
{{- define "tidemark.deletionCostAccounts" -}}
{{- $accounts := list -}}
{{- range $pool, $over := .Values.pools | default (dict "" dict) -}}
{{- $at := dict "root" $ "part" "worker" "own" (include "tidemark.poolValues" (dict "root" $ "over" $over) | fromYaml) -}}
{{- if include "tidemark.usesClusterApi" $at -}}{{- $accounts = append $accounts (include "tidemark.workerAccount" $at) -}}{{- end -}}
{{- end -}}
{{- uniq $accounts | toJson -}}
{{- end -}}

{{/* Not empty where a scaler asks coordinators. */}}
{{- define "tidemark.anyAsksDemand" -}}
{{- range $pool, $over := .Values.pools | default (dict "" dict) -}}
{{- $own := include "tidemark.poolValues" (dict "root" $ "over" $over) | fromYaml -}}
{{- if has $own.scaling.kind (list "keda" "jobs") -}}yes{{- end -}}
{{- end -}}
{{- end -}}

{{/* Where scalers ask coordinators, ready or not. */}}
{{- define "tidemark.scalerServiceHost" -}}
{{- printf "%s-scaler.%s.svc" (include "tidemark.name" .) .Release.Namespace -}}
{{- end -}}
