{{/* Labels of every object. */}}
{{- define "perfrun.labels" -}}
app.kubernetes.io/name: perfrun
app.kubernetes.io/part-of: perfrun
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* What selects the operator's pods. */}}
{{- define "perfrun.selector" -}}
app.kubernetes.io/name: perfrun
app.kubernetes.io/component: manager
{{- end }}

{{- define "perfrun.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "perfrun.subject" }}
- kind: ServiceAccount
  name: perfrun-controller-manager
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Where Dapr's control plane is, as far as it is known here. */}}
{{- define "perfrun.daprNamespace" -}}
{{ .Values.daprNamespace | default (empty .Values.namespaces | ternary "" "dapr-system") }}
{{- end }}
