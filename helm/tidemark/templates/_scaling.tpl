{{/*
Owns how pools of workers are scaled, each taking {root, part, own, pool, name}: by KEDA on the coordinators' number, by a HorizontalPodAutoscaler, or
as jobs that end when there is nothing to do. The number has what is in progress in it (docs/decisions/0037-autoscaling.md).
*/}}

{{/* One after another, each gone from the last as far as `percent` says, and not before it has been so for a while. */}}
{{- define "tidemark.scalingBehavior" -}}
scaleDown:
  stabilizationWindowSeconds: {{ int64 .own.scaling.scaleDown.afterSeconds }}
  selectPolicy: Max
  policies:
    - { type: Percent, value: {{ int64 .own.scaling.scaleDown.percent }}, periodSeconds: 60 }
    - { type: Pods, value: 1, periodSeconds: 60 }
scaleUp:
  stabilizationWindowSeconds: 0
  selectPolicy: Max
  policies:
    - { type: Percent, value: 100, periodSeconds: 15 }
    - { type: Pods, value: {{ int64 .own.scaling.scaleUp.pods }}, periodSeconds: 15 }
{{- end -}}

{{- define "tidemark.demandTriggers" -}}
{{- $scaling := .root.Values.scaling -}}
{{- $scheme := ternary "https" "http" (eq (include "tidemark.apiIsSecured" .root) "yes") -}}
{{- if and .root.Values.tls.api.ca (not $scaling.url) -}}
{{- fail "tls.api.ca asks callers for certificates, and KEDA shows no certificate: set scaling.url to what lets it in, or the kind of all pools' scaling to hpa or none." -}}
{{- end -}}
{{- $base := $scaling.url | default (printf "%s://%s:7070" $scheme (include "tidemark.scalerServiceHost" .root)) -}}
{{- $url := printf "%s/v1/scaling/%s" (trimSuffix "/" $base) (include "tidemark.poolKey" .) -}}
- type: metrics-api
  name: demand
  metadata:
    url: {{ $url | quote }}
    valueLocation: demand
    targetValue: {{ int64 .own.scaling.workflowsPerWorker | quote }}
    authMode: bearer
  authenticationRef: { name: {{ include "tidemark.name" .root }}-scaler }
{{- if and (eq .own.scaling.kind "keda") .own.scaling.keepBusy }}
# As many as hold a workflow: a worker with one long step is not idle, however few steps there are.
- type: metrics-api
  name: busy-workers
  metadata:
    url: {{ $url | quote }}
    valueLocation: busy_workers
    targetValue: '1'
    authMode: bearer
  authenticationRef: { name: {{ include "tidemark.name" .root }}-scaler }
{{- end }}
{{- end -}}

{{- define "tidemark.scaledObject" -}}
{{- $scaling := .own.scaling -}}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: {{ .name }}
  labels: {{- include "tidemark.labels" . | nindent 4 }}
spec:
  scaleTargetRef: { name: {{ .name }} }
  minReplicaCount: {{ int64 $scaling.minReplicas }}
  maxReplicaCount: {{ int64 $scaling.maxReplicas }}
  pollingInterval: {{ int64 $scaling.pollingSeconds }}
  # From the last one to none. At first, too: by itself KEDA ends a worker that has had no work yet, before it has said what it runs.
  cooldownPeriod: {{ int64 $scaling.cooldownSeconds }}
  initialCooldownPeriod: {{ int64 $scaling.cooldownSeconds }}
  # Coordinators that can't tell the number, or aren't there, never cost a worker.
  fallback:
    failureThreshold: 3
    replicas: {{ int64 $scaling.fallback.replicas }}
    behavior: currentReplicasIfHigher
  advanced:
    horizontalPodAutoscalerConfig:
      behavior: {{- include "tidemark.scalingBehavior" . | nindent 8 }}
  triggers: {{- include "tidemark.demandTriggers" . | nindent 4 }}
{{- end -}}

{{- define "tidemark.scaledJob" -}}
{{- $scaling := .own.scaling -}}
{{- if gt (int64 $scaling.minReplicas) 0 -}}
{{- fail (printf "scaling.minReplicas of the workers '%s' is %d: a job ends when nothing is left to do, and KEDA would start it again and again. Set it to 0." .name (int64 $scaling.minReplicas)) -}}
{{- end -}}
{{- if gt (int64 (.own.concurrency | default 0)) (int64 $scaling.workflowsPerWorker) -}}
{{- fail (printf "concurrency of the workers '%s' is larger than scaling.workflowsPerWorker (%d): the first job would take what others were started for. Raise the latter." .name (int64 $scaling.workflowsPerWorker)) -}}
{{- end -}}
{{- $pod := include "tidemark.pod" . | fromYaml -}}
{{- $_ := set $pod.spec "restartPolicy" "Never" -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata:
  name: {{ .name }}
  labels: {{- include "tidemark.labels" . | nindent 4 }}
spec:
  pollingInterval: {{ int64 $scaling.pollingSeconds }}
  minReplicaCount: {{ int64 $scaling.minReplicas }}
  maxReplicaCount: {{ int64 $scaling.maxReplicas }}
  successfulJobsHistoryLimit: 3
  failedJobsHistoryLimit: 3
  # What runs keeps its own settings.
  rollout: { strategy: gradual, propagationPolicy: foreground }
  # The number has what is in progress in it, so that the jobs that run are taken from it.
  scalingStrategy: { strategy: default }
  jobTargetRef:
    parallelism: 1
    completions: 1
    # Its workflows go on elsewhere whatever becomes of it; the next job is KEDA's to start.
    backoffLimit: 0
    template: {{- $pod | toYaml | nindent 6 }}
  triggers: {{- include "tidemark.demandTriggers" . | nindent 4 }}
{{- end -}}

{{- define "tidemark.podAutoscaler" -}}
{{- $scaling := .own.scaling -}}
{{- if lt (int64 $scaling.minReplicas) 1 -}}
{{- fail (printf "scaling.minReplicas of the workers '%s' is 0: a HorizontalPodAutoscaler keeps one at least. Raise it, or set scaling.kind to keda." .name) -}}
{{- end -}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ .name }}
  labels: {{- include "tidemark.labels" . | nindent 4 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ .name }} }
  minReplicas: {{ int64 $scaling.minReplicas }}
  maxReplicas: {{ int64 $scaling.maxReplicas }}
  metrics:
    {{- $labels := merge (dict "pool" (include "tidemark.poolKey" .)) $scaling.hpa.matchLabels }}
    - type: External
      external:
        metric:
          name: tidemark_pool_demand
          selector: { matchLabels: {{ toJson $labels }} }
        target: { type: AverageValue, averageValue: {{ int64 $scaling.workflowsPerWorker | quote }} }
    {{- if $scaling.keepBusy }}
    - type: External
      external:
        metric:
          name: tidemark_pool_busy_workers
          selector: { matchLabels: {{ toJson $labels }} }
        target: { type: AverageValue, averageValue: '1' }
    {{- end }}
  behavior: {{- include "tidemark.scalingBehavior" . | nindent 4 }}
{{- end -}}
