{{/* Owns names, labels and the values that several templates derive alike. */}}

{{- define "tidemark.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Takes {root, part}, and {pool} of a pool of workers. What a pod is found by; must never change within a release. */}}
{{- define "tidemark.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- with .pool }}
tidemark/pool: {{ . }}
{{- end }}
{{- end -}}

{{- define "tidemark.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{/* Takes {root, part}. */}}
{{- define "tidemark.labels" -}}
{{ include "tidemark.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "tidemark.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "tidemark.name" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* The Secret with the addresses that hold credentials: the user's, or with `servers.enabled` the chart's. */}}
{{- define "tidemark.secret" -}}
{{- if .Values.existingSecret -}}
{{- .Values.existingSecret -}}
{{- else if .Values.servers.enabled -}}
{{- printf "%s-addresses" (include "tidemark.name" .) -}}
{{- else -}}
{{- fail "existingSecret is not set: name a Secret with the keys TIDEMARK_REDIS_URL and TIDEMARK_POSTGRES_URL, or set servers.enabled to try Tidemark out." -}}
{{- end -}}
{{- end -}}

{{/* On, unless it was chosen otherwise, or the chart is tried out without a key. */}}
{{- define "tidemark.encryption" -}}
{{- if .Values.settings.TIDEMARK_ENCRYPTION -}}
{{- .Values.settings.TIDEMARK_ENCRYPTION -}}
{{- else if .Values.settings.TIDEMARK_KEYS_URL -}}
on
{{- else if .Values.servers.enabled -}}
off
{{- else -}}
{{- fail "settings.TIDEMARK_KEYS_URL is not set: name the key that wraps data keys (docs/encryption.md), or set settings.TIDEMARK_ENCRYPTION to off." -}}
{{- end -}}
{{- end -}}

{{- define "tidemark.brokers" -}}
{{- if .Values.settings.TIDEMARK_KAFKA_BROKERS -}}
{{- .Values.settings.TIDEMARK_KAFKA_BROKERS -}}
{{- else if .Values.servers.enabled -}}
{{- printf "%s-kafka:9092" (include "tidemark.name" .) -}}
{{- else -}}
{{- fail "settings.TIDEMARK_KAFKA_BROKERS is not set: give host:port[,host:port…], or set servers.enabled to try Tidemark out." -}}
{{- end -}}
{{- end -}}

{{/* Takes {root, own}. How long a pod may take to end: always longer than the drain that the process is told of. */}}
{{- define "tidemark.stopSeconds" -}}
{{- $drainMs := int64 .root.Values.settings.TIDEMARK_DRAIN_MS -}}
{{- if not (kindIs "invalid" .own.drainMs) -}}{{- $drainMs = int64 .own.drainMs -}}{{- end -}}
{{- add (div (add $drainMs 999) 1000) (int64 .root.Values.stopMarginSeconds) -}}
{{- end -}}

{{- define "tidemark.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
# What a process made for itself alone stays so: a second look at every file would open it to the group.
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "tidemark.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Takes {root, part}. The ports of its container: the API's, and that which Prometheus asks. */}}
{{- define "tidemark.ports" -}}
{{- $settings := .root.Values.settings -}}
{{- if eq .part "coordinator" }}
- { name: api, containerPort: {{ $settings.TIDEMARK_API_PORT }} }
{{- end }}
{{- with $settings.TIDEMARK_HEALTH_LISTEN }}
- { name: health, containerPort: {{ splitList ":" . | last }} }
{{- end }}
{{- with $settings.TIDEMARK_METRICS_LISTEN }}
- { name: metrics, containerPort: {{ splitList ":" . | last }} }
{{- end }}
{{- end -}}

{{/* Any is as good to workers, who are told of it; but a policy that names none lets them at every port, the API's too. */}}
{{- define "tidemark.presencePort" -}}
{{- $chosen := int64 .Values.settings.TIDEMARK_PRESENCE_PORT -}}
{{- if or $chosen (not .Values.networkPolicy.enabled) -}}{{- $chosen -}}{{- else -}}7072{{- end -}}
{{- end -}}
