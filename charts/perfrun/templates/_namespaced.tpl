{{/*
What the operator may do in place of its ClusterRole, of which these are the rules: the same in each namespace that it serves, but for those on
objects of the whole cluster, and a look at Dapr's control plane. Compared with config/namespaced, whose comments say why.
*/}}
{{- define "perfrun.rolesInNamespaces" }}
{{- $ofNamespaces := list }}
{{- range .rules }}
{{- if not (has (first .apiGroups) (list "admissionregistration.k8s.io" "authentication.k8s.io" "authorization.k8s.io")) }}
{{- $ofNamespaces = append $ofNamespaces . }}
{{- end }}
{{- end }}
{{- range .root.Values.namespaces }}
{{- include "perfrun.boundRole" (dict "root" $.root "namespace" . "role" "perfrun-runs-role" "binding" "perfrun-runs-rolebinding" "rules" $ofNamespaces) }}
{{- end }}
{{- $pods := dict "resources" (list "pods") "verbs" (list "list") }}
{{- $look := list (merge (dict "apiGroups" (list "")) $pods) (merge (dict "apiGroups" (list "metrics.k8s.io")) $pods) }}
{{- include "perfrun.boundRole" (dict "root" .root "namespace" (include "perfrun.daprNamespace" .root) "role" "perfrun-dapr-reader" "binding" "perfrun-dapr-reader" "rules" $look) }}
{{- end }}

{{- define "perfrun.boundRole" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .role }}
  namespace: {{ .namespace }}
  labels:
    {{- include "perfrun.labels" .root | nindent 4 }}
rules:
{{ toYaml .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .binding }}
  namespace: {{ .namespace }}
  labels:
    {{- include "perfrun.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .role }}
subjects:
{{- include "perfrun.subject" .root }}
{{- end }}

{{/* What takes a right on the whole cluster cannot be had without one. */}}
{{- define "perfrun.checkNamespaces" }}
{{- if and .Values.namespaces .Values.metrics.enabled }}
{{- fail "with namespaces, metrics.enabled must be false: whom to show them to is asked of the API server, which takes a right on the whole cluster" }}
{{- end }}
{{- if and .Values.namespaces .Values.webhook.enabled }}
{{- fail "with namespaces, webhook.enabled must be false: a webhook is the whole cluster's; runs then measure with the mTLS that the cluster has" }}
{{- end }}
{{- end }}
