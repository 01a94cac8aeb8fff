{{/*
Owns which PEM files a pod has, and the settings that name them. They come from Secrets of which the chart knows names alone; only the keys
that are used are mounted.
*/}}

{{/* The setting of each entry of `tls`; those of its files begin with it. */}}
{{- define "tidemark.tlsSettings" -}}
all: TIDEMARK_TLS
kafka: TIDEMARK_KAFKA_TLS
redis: TIDEMARK_REDIS_TLS
postgres: TIDEMARK_POSTGRES_TLS
presence: TIDEMARK_PRESENCE_TLS
api: TIDEMARK_API_TLS
{{- end -}}

{{/* Takes {root, part}. What its pods are given, as a list of {name, setting, own}: all of `tls` but, except to coordinators, the API's. */}}
{{- define "tidemark.tlsEntries" -}}
{{- $entries := list -}}
{{- range $name, $setting := include "tidemark.tlsSettings" . | fromYaml -}}
{{- if or (ne $name "api") (eq $.part "coordinator") -}}
{{- $entries = append $entries (dict "name" $name "setting" $setting "own" (index $.root.Values.tls $name)) -}}
{{- end -}}
{{- end -}}
{{- $entries | toYaml -}}
{{- end -}}

{{- define "tidemark.tlsEnv" -}}
{{- range $entry := include "tidemark.tlsEntries" . | fromYamlArray }}
{{- with $entry.own.mode }}
- { name: {{ $entry.setting }}, value: {{ . | quote }} }
{{- end }}
{{- if $entry.own.secret }}
{{- range $file := list "ca" "cert" "key" }}
{{- with index $entry.own $file }}
- { name: {{ $entry.setting }}_{{ upper $file }}, value: {{ printf "/etc/tidemark/tls/%s/%s" $entry.name . | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "tidemark.tlsMounts" -}}
{{- range $entry := include "tidemark.tlsEntries" . | fromYamlArray }}
{{- if $entry.own.secret }}
- { name: tls-{{ $entry.name }}, mountPath: /etc/tidemark/tls/{{ $entry.name }}, readOnly: true }
{{- end }}
{{- end }}
{{- end -}}

{{- define "tidemark.tlsVolumes" -}}
{{- range $entry := include "tidemark.tlsEntries" . | fromYamlArray }}
{{- if $entry.own.secret }}
{{- $files := list $entry.own.ca $entry.own.cert $entry.own.key | compact | uniq }}
{{- if not $files }}
{{- fail (printf "tls.%s.secret is set, and none of its keys: name at least one of ca, cert and key." $entry.name) }}
{{- end }}
- name: tls-{{ $entry.name }}
  secret:
    secretName: {{ $entry.own.secret | quote }}
    defaultMode: 0440
    items:
      {{- range $files }}
      - { key: {{ . | quote }}, path: {{ . | quote }} }
      {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* yes where coordinators serve the API with TLS, by the rules of libs/operate/host/src/tls.ts. */}}
{{- define "tidemark.apiIsSecured" -}}
{{- $all := .Values.tls.all -}}
{{- $api := .Values.tls.api -}}
{{- $onForAll := or (eq $all.mode "on") (and (eq $all.mode "") (ne $all.secret "") (ne $all.ca "")) -}}
{{- $isOn := or (eq $api.mode "on") (and (eq $api.mode "") (or (ne $api.secret "") $onForAll)) -}}
{{- $hasPair := or (and (ne $api.secret "") (ne $api.cert "")) (and (ne $all.secret "") (ne $all.cert "")) -}}
{{- if and $isOn $hasPair -}}yes{{- end -}}
{{- end -}}
