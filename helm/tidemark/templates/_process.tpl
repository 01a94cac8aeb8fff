{{/*
Owns the Deployment of one service, or of one pool of workers, and its disruption budget. Takes {root, part, own, pool, name}; who is scaled by
another (`isScaled`) has no number of replicas of its own, but the one that it has: helm would take away a number that it gave before, and the cluster
put 1 in its place.
*/}}
{{- define "tidemark.process" -}}
{{- $own := .own -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  labels: {{- include "tidemark.labels" . | nindent 4 }}
spec:
  {{- if not .isScaled }}
  replicas: {{ $own.replicas }}
  {{- else }}
  {{- with (lookup "apps/v1" "Deployment" .root.Release.Namespace .name).spec }}
  {{- if not (kindIs "invalid" .replicas) }}
  replicas: {{ int64 .replicas }}
  {{- end }}
  {{- end }}
  {{- end }}
  # One that ends at once is noticed before the next is replaced.
  minReadySeconds: 5
  revisionHistoryLimit: 5
  strategy:
    type: RollingUpdate
    {{- if eq ($own.antiAffinity | default "none") "required" }}
    # A new one has no node before an old one has left its own.
    rollingUpdate: { maxSurge: 0, maxUnavailable: 1 }
    {{- else }}
    rollingUpdate: { maxSurge: 25%, maxUnavailable: 0 }
    {{- end }}
  selector:
    matchLabels: {{- include "tidemark.selector" . | nindent 6 }}
  template: {{- include "tidemark.pod" . | nindent 4 }}
{{- include "tidemark.disruptionBudget" . }}
{{- end -}}

{{- define "tidemark.disruptionBudget" -}}
{{- if .own.disruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  labels: {{- include "tidemark.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .own.disruptionBudget.maxUnavailable }}
  # Many aren't ready while Postgres or Redis is away, and still hold work: those aren't taken away all at once.
  unhealthyPodEvictionPolicy: IfHealthyBudget
  selector:
    matchLabels: {{- include "tidemark.selector" . | nindent 6 }}
{{- end }}
{{- end -}}
