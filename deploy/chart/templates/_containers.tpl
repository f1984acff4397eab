{{- /* The container of a process of ours: (dict "root" $ "name" NAME "workload" WORKLOAD "volumes" VOLUMES). */}}
{{- define "promontory.process" -}}
{{- $values := .root.Values -}}
- name: {{ .workload.kind }}
  image: {{ include "promontory.ownImage" . }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  command: [promontory]
  args: {{ toJson .workload.args }}
  env:
    {{- include "promontory.environment" . | trim | nindent 4 }}
  {{- if and $values.archive.existingSecret $values.archive.url .workload.log (ne .workload.kind "relay") }}
  envFrom:
    - secretRef:
        name: {{ $values.archive.existingSecret }}
  {{- end }}
  ports:
    {{- if .workload.serves }}
    - name: grpc
      containerPort: {{ .workload.port }}
      protocol: TCP
    {{- end }}
    - name: metrics
      containerPort: 9401
      protocol: TCP
  {{- include "promontory.probes" . | nindent 2 }}
  lifecycle:
    preStop:
      {{- include "promontory.sleep" (dict "root" .root "command" "sleep") | nindent 6 }}
  resources:
    {{- toYaml .workload.spec.resources | nindent 4 }}
  securityContext:
    {{- toYaml $values.security.container | nindent 4 }}
  volumeMounts:
    {{- include "promontory.mounts" .volumes | nindent 4 }}
{{- end }}

{{- define "promontory.mounts" -}}
{{- range . }}
- name: {{ .name }}
  mountPath: {{ .mountPath }}
  {{- if ne .name "tmp" }}{{ if ne .name "archive" }}
  readOnly: true
  {{- end }}{{ end }}
{{- end }}
{{- end }}

{{- define "promontory.sleep" -}}
{{- if eq .root.Values.probes.type "grpc" -}}
sleep:
  seconds: {{ .root.Values.preStopSeconds }}
{{- else -}}
exec:
  command: [sleep, {{ .root.Values.preStopSeconds | quote }}]
{{- end }}
{{- end }}

{{- /*
A service lives while its event loop answers for the whole server, and is ready while it answers for its own service. A
process without a service ends by itself when it cannot go on, and shows its metrics until then.
*/}}
{{- define "promontory.probes" -}}
{{- $probes := .root.Values.probes -}}
{{- range $probe := list "startup" "liveness" "readiness" }}
{{ $probe }}Probe:
  {{- if not $.workload.serves }}
  httpGet:
    path: /metrics
    port: metrics
  {{- else if eq $probes.type "grpc" }}
  grpc:
    port: {{ $.workload.port }}
    service: {{ ternary $.workload.health "" (eq $probe "readiness") | quote }}
  {{- else }}
  exec:
    command: [promontory, health, --address, "localhost:{{ $.workload.port }}", --service, {{ ternary $.workload.health "" (eq $probe "readiness") | quote }}]
  {{- end }}
  timeoutSeconds: {{ $probes.timeoutSeconds }}
  {{- if eq $probe "startup" }}
  periodSeconds: 3
  failureThreshold: {{ divf $probes.startupSeconds 3 | ceil }}
  {{- else }}
  periodSeconds: {{ $probes.periodSeconds }}
  failureThreshold: {{ $probes.failureThreshold }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* The container that loads the functions first: (dict "root" $ "name" NAME "volumes" VOLUMES "secret" SECRET). */}}
{{- define "promontory.functionsContainer" -}}
{{- $values := .root.Values -}}
- name: load-functions
  image: {{ include "promontory.ownImage" . }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  command: [promontory]
  args: [load-functions]
  env:
    {{- include "promontory.redisUrl" . | nindent 4 }}
    {{- range $name, $value := $values.defaults.settings }}
    - name: PROMONTORY_{{ $name }}
      value: {{ include "promontory.text" $value | quote }}
    {{- end }}
  resources:
    {{- toYaml $values.loadFunctions.resources | nindent 4 }}
  securityContext:
    {{- toYaml $values.security.container | nindent 4 }}
  volumeMounts:
    {{- range .volumes }}
    {{- if has .name (list "tmp" "redis-ca") }}
    {{- include "promontory.mounts" (list .) | nindent 4 }}
    {{- end }}
    {{- end }}
{{- end }}
