{{/*
Owns the pod of one service. Takes {root, part, own, pool}: `own` are the values of the service or of a pool of workers, `pool` is the pool's name
or empty. It is alive and ready as the process itself says (docs/deploy.md, health).
*/}}
{{- define "tidemark.pod" -}}
{{- $own := .own -}}
{{- $api := include "tidemark.usesClusterApi" . -}}
metadata:
  labels:
    {{- include "tidemark.selector" . | nindent 4 }}
    {{- with $own.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    checksum/settings: {{ include "tidemark.settings" .root | sha256sum }}
    {{- with $own.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ if eq .part "worker" }}{{ include "tidemark.workerAccount" . }}{{ else }}{{ include "tidemark.serviceAccount" .root }}{{ end }}
  automountServiceAccountToken: {{ if $api }}true{{ else }}false{{ end }}
  # Kubernetes would put names into the environment that begin like those of settings.
  enableServiceLinks: false
  # The program is not PID 1 then, which would be deaf to a signal before the program listens to it.
  shareProcessNamespace: true
  terminationGracePeriodSeconds: {{ include "tidemark.stopSeconds" . }}
  securityContext: {{- include "tidemark.podSecurity" .root | nindent 4 }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- with $own.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "tidemark.affinity" . | trim }}
  affinity: {{- . | nindent 4 }}
  {{- end }}
  # Zones are a matter of affinity: the scheduler ignores a node that lacks the label of any one of these constraints.
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "tidemark.selector" . | nindent 10 }}
      # A rollout's new pods among themselves: the old ones are about to end.
      matchLabelKeys: [pod-template-hash]
  containers:
    - name: {{ .part }}
      image: {{ include "tidemark.image" .root | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: [{{ .part }}]
      envFrom:
        - configMapRef: { name: {{ include "tidemark.name" .root }}-settings }
        {{- with $own.extraEnvFrom }}{{ toYaml . | nindent 8 }}{{ end }}
      env:
        {{- include "tidemark.secretEnv" . | nindent 8 }}
        {{- with include "tidemark.tlsEnv" . | trim }}{{ . | nindent 8 }}{{ end }}
        {{- with include "tidemark.poolEnv" . | trim }}{{ . | nindent 8 }}{{ end }}
        {{- with include "tidemark.heapMb" . }}
        - { name: SERVICE_HEAP_MB, value: {{ . | quote }} }
        {{- end }}
        {{- with $own.extraEnv }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- with include "tidemark.ports" . | trim }}
      ports: {{- . | nindent 8 }}
      {{- end }}
      {{- include "tidemark.probes" . | nindent 6 }}
      resources: {{- toYaml $own.resources | nindent 8 }}
      securityContext: {{- include "tidemark.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        {{- with include "tidemark.passwordMounts" .root | trim }}{{ . | nindent 8 }}{{ end }}
        {{- with include "tidemark.tlsMounts" . | trim }}{{ . | nindent 8 }}{{ end }}
        {{- with $own.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  volumes:
    - name: tmp
      emptyDir: { sizeLimit: 256Mi }
    {{- with include "tidemark.passwordVolumes" .root | trim }}{{ . | nindent 4 }}{{ end }}
    {{- with include "tidemark.tlsVolumes" . | trim }}{{ . | nindent 4 }}{{ end }}
    {{- with $own.extraVolumes }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end -}}

{{/* Half of the limit of memory, where it is more than Node's heap has anyway: buffers and code are outside of it. Takes {own, name}. */}}
{{- define "tidemark.heapMb" -}}
{{- $limit := int64 0 -}}
{{- with ((.own.resources | default dict).limits | default dict).memory -}}
{{- $text := toString (include "tidemark.plainNumber" .) -}}
{{- $number := regexFind "^[+]?[0-9.]+([eE][+-]?[0-9]+)?" $text -}}
{{- $unit := get (dict "m" 1e-9 "" 1e-6 "k" 1e-3 "Ki" 0.001024 "M" 1 "Mi" 1.048576 "G" 1e3 "Gi" 1073.741824 "T" 1e6 "Ti" 1099511.627776 "P" 1e9 "Pi" 1125899906.842624) (trimPrefix $number $text) -}}
{{- if not (and $number $unit) -}}
{{- fail (printf "resources.limits.memory of '%s' is %v, and no amount of memory: write it as 512Mi." $.name .) -}}
{{- end -}}
{{- $limit = int64 (mulf (float64 $number) $unit) -}}
{{- end -}}
{{- if .own.heapMb -}}
{{- if and (gt $limit 0) (gt (add 200 (int64 .own.heapMb)) $limit) -}}
{{- fail (printf "heapMb of '%s' is %d, and its resources.limits.memory %v: some 300 MB are outside of the heap, so its pods would be killed. Raise the limit, or leave heapMb out: it is half of the limit then." .name (int64 .own.heapMb) .own.resources.limits.memory) -}}
{{- end -}}
{{- int64 .own.heapMb -}}
{{- else if gt (div $limit 2) 224 -}}
{{- div $limit 2 -}}
{{- end -}}
{{- end -}}

{{/* By server, the Secret with its password. Takes the root, as the next two do: the files that pods have of them. */}}
{{- define "tidemark.passwordSecrets" -}}
{{- $secrets := dict -}}
{{- range $server := list "kafka" "postgres" -}}
{{- with get $.Values (printf "%sPasswordSecret" $server) -}}{{- $_ := set $secrets $server . -}}{{- end -}}
{{- end -}}
{{- toYaml $secrets -}}
{{- end -}}

{{- define "tidemark.passwordMounts" -}}
{{- range $server, $_ := include "tidemark.passwordSecrets" . | fromYaml }}
- { name: {{ $server }}-password, mountPath: /etc/tidemark/{{ $server }}, readOnly: true }
{{- end }}
{{- end -}}

{{- define "tidemark.passwordVolumes" -}}
{{- range $server, $secret := include "tidemark.passwordSecrets" . | fromYaml }}
- name: {{ $server }}-password
  secret: { secretName: {{ $secret | quote }}, defaultMode: 0440, items: [{ key: password, path: password }] }
{{- end }}
{{- end -}}

{{/* Takes {root}. What holds credentials comes from Secrets that are named. */}}
{{- define "tidemark.secretEnv" -}}
{{- range list "TIDEMARK_REDIS_URL" "TIDEMARK_POSTGRES_URL" }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ include "tidemark.secret" $.root }}, key: {{ . }} } }
{{- end }}
{{- with .root.Values.otelHeadersSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: OTEL_EXPORTER_OTLP_HEADERS } }
{{- end }}
{{- end -}}

{{/*
A process has ten minutes to load its modules, which is for the tightest limit of processor time; from then on it is alive while it connects, and what can't be
reached makes it unready, and never ends it.
*/}}
{{- define "tidemark.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: health }
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 300
livenessProbe:
  httpGet: { path: /livez, port: health }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: { path: /readyz, port: health }
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}

{{/* The service's own affinity; rather away from the zones of its like, where nodes have any, and from their nodes where that is asked for. */}}
{{- define "tidemark.affinity" -}}
{{- $like := dict "matchLabels" (include "tidemark.selector" . | fromYaml) -}}
{{- $away := list (dict "weight" 100 "podAffinityTerm" (dict "topologyKey" "topology.kubernetes.io/zone" "labelSelector" $like)) -}}
{{- $terms := dict "preferredDuringSchedulingIgnoredDuringExecution" $away -}}
{{- if eq .own.antiAffinity "required" -}}
{{- $_ := set $terms "requiredDuringSchedulingIgnoredDuringExecution" (list (dict "topologyKey" "kubernetes.io/hostname" "labelSelector" $like)) -}}
{{- end -}}
{{- toYaml (mustMerge (deepCopy (.own.affinity | default dict)) (dict "podAntiAffinity" $terms)) -}}
{{- end -}}
