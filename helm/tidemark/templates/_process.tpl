{{/*
Owns the Deployment of one service and its disruption budget. Takes {root, part}; the service's own values are those of
its name. No liveness probes: one that can't go on ends with an exit code, and is started again. A coordinator is ready once it
serves the API; a connection tells it, whatever TLS and names it serves.
*/}}
{{- define "tidemark.process" -}}
{{- $own := index .root.Values .part -}}
{{- $name := printf "%s-%s" (include "tidemark.name" .root) .part -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels: {{- include "tidemark.labels" . | nindent 4 }}
spec:
  replicas: {{ $own.replicas }}
  # One that ends at once is noticed before the next is replaced.
  minReadySeconds: 5
  revisionHistoryLimit: 5
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxSurge: 25%, maxUnavailable: 0 }
  selector:
    matchLabels: {{- include "tidemark.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "tidemark.selector" . | nindent 8 }}
        {{- with $own.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      annotations:
        checksum/settings: {{ include "tidemark.settings" .root | sha256sum }}
        {{- with $own.podAnnotations }}{{ toYaml . | nindent 8 }}{{ end }}
    spec:
      serviceAccountName: {{ include "tidemark.serviceAccount" .root }}
      automountServiceAccountToken: false
      # Kubernetes would put names into the environment that begin like those of settings.
      enableServiceLinks: false
      # The program is not PID 1 then, which would be deaf to a signal before the program listens to it.
      shareProcessNamespace: true
      terminationGracePeriodSeconds: {{ include "tidemark.stopSeconds" .root }}
      securityContext: {{- include "tidemark.podSecurity" . | nindent 8 }}
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $own.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $own.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $own.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if $own.spreadOverNodes }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "tidemark.selector" . | nindent 14 }}
      {{- end }}
      containers:
        - name: {{ .part }}
          image: {{ printf "%s:%s" .root.Values.image.repository (.root.Values.image.tag | default .root.Chart.AppVersion) | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: [{{ .part }}]
          envFrom:
            - configMapRef: { name: {{ include "tidemark.name" .root }}-settings }
            {{- with $own.extraEnvFrom }}{{ toYaml . | nindent 12 }}{{ end }}
          env:
            {{- range list "TIDEMARK_REDIS_URL" "TIDEMARK_POSTGRES_URL" }}
            - name: {{ . }}
              valueFrom: { secretKeyRef: { name: {{ include "tidemark.secret" $.root }}, key: {{ . }} } }
            {{- end }}
            {{- with .root.Values.otelHeadersSecret }}
            - name: OTEL_EXPORTER_OTLP_HEADERS
              valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: OTEL_EXPORTER_OTLP_HEADERS } }
            {{- end }}
            {{- with include "tidemark.tlsEnv" . | trim }}{{ . | nindent 12 }}{{ end }}
            {{- with $own.extraEnv }}{{ toYaml . | nindent 12 }}{{ end }}
          {{- with include "tidemark.ports" . | trim }}
          ports: {{- . | nindent 12 }}
          {{- end }}
          {{- if and (eq .part "coordinator") (not (include "tidemark.apiIsLocal" .root)) }}
          readinessProbe:
            tcpSocket: { port: api }
            periodSeconds: 5
          {{- end }}
          {{- with $own.lifecycle | default (include "tidemark.lifecycle" . | fromYaml) }}
          lifecycle: {{- toYaml . | nindent 12 }}
          {{- end }}
          resources: {{- toYaml $own.resources | nindent 12 }}
          securityContext: {{- include "tidemark.containerSecurity" . | nindent 12 }}
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            {{- with include "tidemark.tlsMounts" . | trim }}{{ . | nindent 12 }}{{ end }}
            {{- with $own.extraVolumeMounts }}{{ toYaml . | nindent 12 }}{{ end }}
      volumes:
        - name: tmp
          emptyDir: { sizeLimit: 256Mi }
        {{- with include "tidemark.tlsVolumes" . | trim }}{{ . | nindent 8 }}{{ end }}
        {{- with $own.extraVolumes }}{{ toYaml . | nindent 8 }}{{ end }}
{{- if $own.disruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{- include "tidemark.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ $own.disruptionBudget.maxUnavailable }}
  selector:
    matchLabels: {{- include "tidemark.selector" . | nindent 6 }}
{{- end }}
{{- end -}}
