{{/* Owns what values must agree about beyond their schema: pods would end with 78 otherwise, work would wait for nobody, or nothing would scale. */}}

{{- define "tidemark.checkSettings" -}}
{{- $settings := .Values.settings -}}
{{- if $settings.TIDEMARK_KEEP -}}
{{- if lt (int64 (include "tidemark.seconds" $settings.TIDEMARK_KEEP)) (int64 (include "tidemark.seconds" $settings.TIDEMARK_WARM)) -}}
{{- fail (printf "settings.TIDEMARK_KEEP (%s) is less than TIDEMARK_WARM (%s): history can't be deleted before it grows cold. Shorten TIDEMARK_WARM, or keep it longer." $settings.TIDEMARK_KEEP $settings.TIDEMARK_WARM) -}}
{{- end -}}
{{- end -}}
{{- $own := or .Values.compactor.extraEnv .Values.compactor.extraEnvFrom -}}
{{- if and (not $settings.TIDEMARK_ARCHIVE_URL) (not $own) (gt (int64 .Values.compactor.replicas) 0) -}}
{{- fail "settings.TIDEMARK_ARCHIVE_URL is not set, so the compactor has nowhere to archive to and the log grows for ever. Set it to s3://BUCKET/PREFIX, or to file:///FOLDER of a volume that every pod mounts (extraVolumes, ReadWriteMany). To keep all history in the log, set compactor.replicas to 0." -}}
{{- end -}}
{{- $taken := dict -}}
{{- $presence := include "tidemark.presencePort" . -}}
{{- range $name, $address := dict "TIDEMARK_API_PORT" $settings.TIDEMARK_API_PORT "TIDEMARK_HEALTH_LISTEN" $settings.TIDEMARK_HEALTH_LISTEN "TIDEMARK_METRICS_LISTEN" $settings.TIDEMARK_METRICS_LISTEN "TIDEMARK_PRESENCE_PORT" $presence -}}
{{- $port := splitList ":" (include "tidemark.plainNumber" $address) | last -}}
{{- if not (has $port (list "" "0")) -}}
{{- if hasKey $taken $port -}}
{{- fail (printf "settings.%s and settings.%s are both port %s, and a coordinator listens at both: choose another for one of them." (get $taken $port) $name $port) -}}
{{- end -}}
{{- $_ := set $taken $port $name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Takes a duration such as 90d, as the schema has them. */}}
{{- define "tidemark.seconds" -}}
{{- mul (int64 (regexFind "^[0-9]+" .)) (get (dict "s" 1 "m" 60 "h" 3600 "d" 86400) (regexFind "[smhd]$" .)) -}}
{{- end -}}

{{/* Takes {root, part, own, pool, name}. */}}
{{- define "tidemark.checkScaling" -}}
{{- $scaling := .own.scaling -}}
{{- if and (ne $scaling.kind "none") (gt (int64 $scaling.minReplicas) (int64 $scaling.maxReplicas)) -}}
{{- fail (printf "scaling.minReplicas of the workers '%s' (%d) is more than scaling.maxReplicas (%d)." .name (int64 $scaling.minReplicas) (int64 $scaling.maxReplicas)) -}}
{{- end -}}
{{- if or (eq $scaling.kind "keda") (and (eq $scaling.kind "hpa") (eq $scaling.hpa.metric "demand")) -}}
{{- $concurrency := int64 (.own.concurrency | default .root.Values.settings.TIDEMARK_CONCURRENCY) -}}
{{- if gt (int64 $scaling.workflowsPerWorker) $concurrency -}}
{{- fail (printf "scaling.workflowsPerWorker of the workers '%s' is %d, and one runs %d at once: what is beyond would wait, and nothing would scale. Lower it, or raise concurrency." .name (int64 $scaling.workflowsPerWorker) $concurrency) -}}
{{- end -}}
{{- end -}}
{{- if has $scaling.kind (list "keda" "jobs") -}}
{{- $known := .root.Values.settings.TIDEMARK_POOLS -}}
{{- if and $known (not (regexMatch (printf "(^|;) *%s *=" (include "tidemark.poolKey" .)) $known)) -}}
{{- fail (printf "settings.TIDEMARK_POOLS has no pool '%s', by which the workers '%s' are scaled: name it there, or leave the setting empty, so that the chart does." (include "tidemark.poolKey" .) .name) -}}
{{- end -}}
{{- if gt (len .name) 63 -}}
{{- fail (printf "the name of the workers '%s' has %d letters, and KEDA makes it a label's value, which has 63 at most: give the release or the pool a shorter one." .name (len .name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
