{{/*
What the three servers have in common. Takes {root, part, port}: the Service, and the head of the StatefulSet up to the
pod's spec.
*/}}
{{- define "tidemark.serverHead" -}}
{{- $name := printf "%s-%s" (include "tidemark.name" .root) .part -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels: {{- include "tidemark.labels" . | nindent 4 }}
spec:
  clusterIP: None
  selector: {{- include "tidemark.selector" . | nindent 4 }}
  ports:
    - { name: {{ .part }}, port: {{ .port }}, targetPort: {{ .part }} }
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  labels: {{- include "tidemark.labels" . | nindent 4 }}
spec:
  serviceName: {{ $name }}
  replicas: 1
  selector:
    matchLabels: {{- include "tidemark.selector" . | nindent 6 }}
  {{- with .storage }}
  volumeClaimTemplates:
    - metadata: { name: data }
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $.root.Values.servers.storageClassName }}
        storageClassName: {{ . }}
        {{- end }}
        resources: { requests: { storage: {{ . }} } }
  {{- end }}
  template:
    metadata:
      labels: {{- include "tidemark.selector" . | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 60
{{- end -}}
