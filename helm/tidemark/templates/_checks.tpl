{{/* Owns what values must agree about beyond their schema: pods would end with 78 otherwise, work would wait for nobody, or nothing would scale. */}}

{{- define "tidemark.checkSettings" -}}
{{- $settings := .Values.settings -}}
{{- if $settings.TIDEMARK_KEEP -}}
{{- if lt (int64 (include "tidemark.seconds" $settings.TIDEMARK_KEEP)) (int64 (include "tidemark.seconds" $settings.TIDEMARK_WARM)) -}}
{{- fail (printf "settings.TIDEMARK_KEEP (%s) is less than TIDEMARK_WARM (%s): history can't be deleted before it grows cold. Shorten TIDEMARK_WARM, or keep it longer." $settings.TIDEMARK_KEEP $settings.TIDEMARK_WARM) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.idsFromCluster .Values.servers.enabled -}}
{{- fail "idsFromCluster is true and servers.enabled too: the chart's own servers run as the users of their images. Run servers of your own." -}}
{{- end -}}
{{- range $name := list "TIDEMARK_KEYS_URL" "TIDEMARK_SECRETS_KEYS_URL" "TIDEMARK_ARCHIVE_URL" "TIDEMARK_COLD_URL" -}}
{{- if hasPrefix "file:///tmp" (toString (get $settings $name)) -}}
{{- fail (printf "settings.%s names /tmp, which each pod has for itself and loses with its end. Name a folder of a volume that every pod mounts (extraVolumes)." $name) -}}
{{- end -}}
{{- end -}}
{{- include "tidemark.checkSasl" . -}}
{{- $asksAws := or $settings.TIDEMARK_POSTGRES_AWS_REGION (eq (toString $settings.TIDEMARK_KAFKA_SASL) "aws-msk-iam") -}}
{{- if and $asksAws .Values.migrations.enabled .Values.serviceAccount.create -}}
{{- fail "settings ask Amazon for a token (TIDEMARK_POSTGRES_AWS_REGION or TIDEMARK_KAFKA_SASL), and the migrations' Job runs before the release has made its own account: make an account with the role, set serviceAccount.create to false and serviceAccount.name to it; or set migrations.enabled to false." -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled .Values.networkPolicy.restrictEgress (not .Values.networkPolicy.egress) -}}
{{- fail "networkPolicy.restrictEgress is true and networkPolicy.egress is empty: no pod could reach Kafka, Redis or Postgres. List where they are." -}}
{{- end -}}
{{- $own := or .Values.compactor.extraEnv .Values.compactor.extraEnvFrom -}}
{{- if and (not $settings.TIDEMARK_ARCHIVE_URL) (not $own) (gt (int64 .Values.compactor.replicas) 0) -}}
{{- fail "settings.TIDEMARK_ARCHIVE_URL is not set, so the compactor has nowhere to archive to and the log grows for ever. Set it to s3://BUCKET/PREFIX, or to file:///FOLDER of a volume that every pod mounts (extraVolumes, ReadWriteMany). To keep all history in the log, set compactor.replicas to 0." -}}
{{- end -}}
{{- end -}}

{{/* As libs/operate/host/src/kafka-sasl.ts. What a service has in its own environment is not seen here. */}}
{{- define "tidemark.checkSasl" -}}
{{- $user := list "USERNAME" "PASSWORD_FILE" -}}
{{- $needs := dict "plain" $user "scram-sha-256" $user "scram-sha-512" $user "oauthbearer" (append $user "TOKEN_URL") "aws-msk-iam" (list "AWS_REGION") -}}
{{- $mechanism := toString .Values.settings.TIDEMARK_KAFKA_SASL -}}
{{- $isSeen := not .Values.coordinator.extraEnvFrom -}}
{{- range .Values.coordinator.extraEnv }}{{ if hasPrefix "TIDEMARK_KAFKA_" .name }}{{ $isSeen = false }}{{ end }}{{ end -}}
{{- $needed := get $needs $mechanism | default list -}}
{{- range $part := list "USERNAME" "PASSWORD_FILE" "TOKEN_URL" "TOKEN_SCOPE" "AWS_REGION" -}}
{{- $name := printf "TIDEMARK_KAFKA_%s" $part -}}
{{- $said := printf "settings.%s" $name -}}
{{- $isGiven := get $.Values.settings $name -}}
{{- if eq $part "PASSWORD_FILE" -}}
{{- $said = "kafkaPasswordSecret" -}}
{{- $isGiven = or $isGiven $.Values.kafkaPasswordSecret -}}
{{- end -}}
{{- $may := or (has $part $needed) (and (eq $part "TOKEN_SCOPE") (eq $mechanism "oauthbearer")) -}}
{{- if and $isGiven (not $may) (or $mechanism $isSeen) -}}
{{- fail (printf "%s is set, and settings.TIDEMARK_KAFKA_SASL is %s, with which it means nothing: remove one of them, or name the mechanism that it is for." $said ($mechanism | default "empty")) -}}
{{- end -}}
{{- if and (has $part $needed) (not $isGiven) $isSeen -}}
{{- fail (printf "settings.TIDEMARK_KAFKA_SASL is %s, which needs %s, and that is not set." $mechanism $said) -}}
{{- end -}}
{{- end -}}
{{- $tls := .Values.tls -}}
{{- $isTls := or (eq $tls.kafka.mode "on") $tls.kafka.secret (and (ne $tls.all.mode "off") (or $tls.all.secret (eq $tls.all.mode "on"))) -}}
{{- if and $mechanism (not (hasPrefix "scram-" $mechanism)) (not $isTls) (ne $tls.kafka.mode "off") $isSeen -}}
{{- fail (printf "settings.TIDEMARK_KAFKA_SASL is %s, which sends a secret in clear without TLS: set tls.kafka.mode to 'on', or to 'off' where the network is safe." $mechanism) -}}
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
{{- if and .own.concurrency (has $scaling.kind (list "keda" "hpa")) (gt (int64 $scaling.workflowsPerWorker) (int64 .own.concurrency)) -}}
{{- fail (printf "scaling.workflowsPerWorker of the workers '%s' is %d, and one runs %d at once: what is beyond would wait, and nothing would scale. Lower it, or raise concurrency." .name (int64 $scaling.workflowsPerWorker) (int64 .own.concurrency)) -}}
{{- end -}}
{{- if has $scaling.kind (list "keda" "jobs") -}}
{{- if gt (len .name) 63 -}}
{{- fail (printf "the name of the workers '%s' has %d letters, and KEDA makes it a label's value, which has 63 at most: give the release or the pool a shorter one." .name (len .name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
