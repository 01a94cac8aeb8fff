{{/* Owns what must agree before the API is served: a coordinator would end with 78 otherwise, or refuse who comes. */}}

{{/* Where names are restricted, a scaler comes by that of its service. */}}
{{- define "tidemark.apiHosts" -}}
{{- $hosts := .Values.settings.TIDEMARK_API_HOSTS -}}
{{- if and $hosts (include "tidemark.anyAsksDemand" .) -}}
{{- printf "%s,%s" $hosts (include "tidemark.scalerServiceHost" .) -}}
{{- else -}}
{{- $hosts -}}
{{- end -}}
{{- end -}}

{{- define "tidemark.checkApi" -}}
{{- $settings := .Values.settings -}}
{{- $ingress := .Values.api.ingress -}}
{{- if and (eq $settings.TIDEMARK_AUTH_KEYS "off") (not $settings.TIDEMARK_AUTH_OIDC_ISSUER) -}}
{{- fail "settings.TIDEMARK_AUTH_KEYS is off and TIDEMARK_AUTH_OIDC_ISSUER is not set: nobody could be let in. Allow one of them." -}}
{{- end -}}
{{- if and $settings.TIDEMARK_AUTH_OIDC_ISSUER (not $settings.TIDEMARK_AUTH_OIDC_AUDIENCE) -}}
{{- fail "settings.TIDEMARK_AUTH_OIDC_AUDIENCE is not set: without it, tokens for other services would be accepted." -}}
{{- end -}}
{{- if and .Values.tls.api.ca (not (and .Values.tls.api.secret (include "tidemark.apiIsSecured" .))) -}}
{{- fail "tls.api.ca asks callers for certificates, and the API has no certificate of its own, or tls.api no secret that has that authority: name secret, cert, key and ca in tls.api." -}}
{{- end -}}
{{- if $ingress.enabled -}}
{{- if not .Values.api.service.enabled -}}
{{- fail "api.ingress is enabled and api.service is not: an ingress leads to a service." -}}
{{- end -}}
{{- if not $ingress.host -}}
{{- fail "api.ingress.host is not set: give the name under which the API is reached." -}}
{{- end -}}
{{- $hosts := splitList "," (nospace $settings.TIDEMARK_API_HOSTS) -}}
{{- if and $settings.TIDEMARK_API_HOSTS (not (has $ingress.host $hosts)) -}}
{{- fail "api.ingress.host is not in settings.TIDEMARK_API_HOSTS: what comes through the ingress would be refused. Add it there." -}}
{{- end -}}
{{- end -}}
{{- end -}}
