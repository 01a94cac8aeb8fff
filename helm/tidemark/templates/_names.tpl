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

{{/* Takes {own}. How long a pod may take to end: the drain, if it has one, and what leases and connections take beyond it. */}}
{{- define "tidemark.stopSeconds" -}}
{{- add (div (add (int64 .own.drainMs) 999) 1000) 20 -}}
{{- end -}}

{{/* Takes the root. */}}
{{- define "tidemark.podSecurity" -}}
runAsNonRoot: true
{{- if not .Values.idsFromCluster }}
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
{{- end }}
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
- { name: api, containerPort: 7070 }
{{- end }}
- { name: health, containerPort: 7071 }
{{- with $settings.TIDEMARK_METRICS_LISTEN }}
- { name: metrics, containerPort: {{ splitList ":" . | last }} }
{{- end }}
{{- end -}}
