{{- define "promontory.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* What the names of all objects begin with. */}}
{{- define "promontory.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- /* Every pod of the release. */}}
{{- define "promontory.selector" -}}
app.kubernetes.io/name: {{ include "promontory.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The pods of one workload: (dict "root" $ "name" "rules-pacific"). */}}
{{- define "promontory.selectorOf" -}}
{{ include "promontory.selector" .root }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- /* The pods of all workloads of a kind, such as all games' rules: (dict "root" $ "kind" "rules"). */}}
{{- define "promontory.selectorOfKind" -}}
{{ include "promontory.selector" .root }}
promontory/kind: {{ .kind }}
{{- end }}

{{- /* The labels of an object that belongs to a workload, or with no "name" to the release. */}}
{{- define "promontory.labels" -}}
{{- if .name -}}
{{ include "promontory.selectorOf" . }}
{{- else -}}
{{ include "promontory.selector" .root }}
{{- end }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- /* The labels of pods; those of the chart's own version are left out, which is no reason to replace them. */}}
{{- define "promontory.podLabels" -}}
{{ include "promontory.selectorOf" . }}
app.kubernetes.io/version: {{ dig "spec" "imageTag" "" .workload | default .root.Chart.AppVersion | quote }}
promontory/kind: {{ .workload.kind }}
{{- end }}

{{- /* An image: (dict "image" .Values.image "tag" "what is meant by no tag"). */}}
{{- define "promontory.image" -}}
{{ .image.repository }}:{{ .image.tag | default .tag }}{{ with .image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- /* The image of a process of ours: (dict "root" $ "workload" WORKLOAD); its own tag goes before everyone's. */}}
{{- define "promontory.ownImage" -}}
{{- $image := .root.Values.image -}}
{{- with dig "spec" "imageTag" "" .workload }}{{ $image = dict "repository" $image.repository "tag" . }}{{ end -}}
{{ include "promontory.image" (dict "image" $image "tag" .root.Chart.AppVersion) }}
{{- end }}

{{- /* A value as a setting is written: whole numbers without an exponent. */}}
{{- define "promontory.text" -}}
{{- if kindIs "float64" . -}}
{{- if eq . (floor .) }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- else }}{{ . }}{{ end -}}
{{- end }}

{{- /* Where pods find the services of a workload. */}}
{{- define "promontory.host" -}}
{{ include "promontory.fullname" .root }}-{{ .name }}.{{ .root.Release.Namespace }}.svc.{{ .root.Values.clusterDomain }}
{{- end }}
