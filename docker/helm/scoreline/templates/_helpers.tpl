{{- define "scoreline.name" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "scoreline.selector" -}}
app.kubernetes.io/name: scoreline
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "scoreline.labels" -}}
{{ include "scoreline.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "scoreline.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "scoreline.secret" -}}
{{- default (include "scoreline.name" .) .Values.secrets.existing -}}
{{- end -}}

{{- define "scoreline.secretsData" -}}
{{- $names := prepend .Values.secrets.further (include "scoreline.secret" .) -}}
{{- range .Values.secrets.keys -}}{{- $names = append $names .name -}}{{- end -}}
{{- with .Values.tls.caSecret -}}{{- $names = append $names . -}}{{- end -}}
{{- range uniq $names -}}
{{- with lookup "v1" "Secret" $.Release.Namespace . -}}{{- toJson .data -}}{{- end -}}
{{- end -}}
{{- end -}}
