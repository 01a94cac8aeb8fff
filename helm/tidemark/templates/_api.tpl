{{/* Owns what must agree before the API is served: a coordinator would end with 78 otherwise, or be asked where it doesn't listen. */}}

{{/* Not empty when the API listens to its pod alone, where only `kubectl port-forward` leads. */}}
{{- define "tidemark.apiIsLocal" -}}
{{- if regexMatch "^(localhost|127\\.[0-9.]+|::1)$" .Values.settings.TIDEMARK_API_HOST -}}yes{{- end -}}
{{- end -}}

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
{{- $local := include "tidemark.apiIsLocal" . -}}
{{- $ingress := .Values.api.ingress -}}
{{- if and (eq $settings.TIDEMARK_AUTH "off") (not $local) -}}
{{- fail "settings.TIDEMARK_AUTH is off: everybody could do everything. Set it to on, or set TIDEMARK_API_HOST to 127.0.0.1 and api.service.enabled to false, and use kubectl port-forward." -}}
{{- end -}}
{{- if and (eq $settings.TIDEMARK_AUTH "on") (eq $settings.TIDEMARK_AUTH_KEYS "off") (not $settings.TIDEMARK_AUTH_OIDC_ISSUER) -}}
{{- fail "settings.TIDEMARK_AUTH_KEYS is off and TIDEMARK_AUTH_OIDC_ISSUER is not set: nobody could be let in. Allow one of them." -}}
{{- end -}}
{{- if and $settings.TIDEMARK_AUTH_OIDC_ISSUER (not $settings.TIDEMARK_AUTH_OIDC_AUDIENCE) -}}
{{- fail "settings.TIDEMARK_AUTH_OIDC_AUDIENCE is not set: without it, tokens for other services would be accepted." -}}
{{- end -}}
{{- if and (eq $settings.TIDEMARK_API_CLIENT_CERTIFICATES "required") (not (and (include "tidemark.apiIsSecured" .) (or (and .Values.tls.api.secret .Values.tls.api.ca) (and .Values.tls.all.secret .Values.tls.all.ca)))) -}}
{{- fail "settings.TIDEMARK_API_CLIENT_CERTIFICATES is required, and the API has no certificate or no authority to check callers' by: name secret, cert, key and ca in tls.api." -}}
{{- end -}}
{{- if and .Values.api.service.enabled $local -}}
{{- fail "settings.TIDEMARK_API_HOST is the pod's own loop, where a service leads nobody: set it to 0.0.0.0, or api.service.enabled to false." -}}
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
