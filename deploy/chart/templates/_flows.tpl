{{- /*
Who may reach a workload: those whose kind calls its kind, those whom the values name, and who reads metrics. A service
that neither calls is open to nobody; the edge is open to everyone if the values name nobody.
*/}}
{{- define "promontory.ingress" -}}
{{- $policy := .root.Values.networkPolicy -}}
{{- $kind := .workload.kind -}}
{{- $named := get $policy (get (dict "edge" "edge" "admin" "admin") $kind | default "services") -}}
{{- $callers := list -}}
{{- range $caller, $row := .kinds -}}
{{- if has $kind $row.calls -}}
{{- $labels := include "promontory.selectorOfKind" (dict "root" $.root "kind" $caller) | fromYaml -}}
{{- $callers = append $callers (dict "podSelector" (dict "matchLabels" $labels)) -}}
{{- end -}}
{{- end -}}
{{- $everyone := and (eq $kind "edge") (not $named) -}}
{{- $peers := ternary list (concat $callers $named) $everyone -}}
{{- if and .workload.port (or $peers $everyone) }}
{{- include "promontory.flow" (dict "way" "from" "peers" $peers "ports" (list .workload.port)) }}
{{- end }}
{{- include "promontory.flow" (dict "way" "from" "peers" $policy.monitoring "ports" (list 9401)) }}
{{- end }}

{{- /* Whom a workload may reach: DNS, the services it calls, and the servers that its kind needs. */}}
{{- define "promontory.egress" -}}
{{- $values := .root.Values -}}
{{- $policy := $values.networkPolicy -}}
- {{ with $policy.dns }}to:
    {{- toYaml . | nindent 4 }}
  {{ end }}ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- range $callee := .workload.calls }}
- to:
    - podSelector:
        matchLabels:
          {{- include "promontory.selectorOfKind" (dict "root" $.root "kind" $callee) | nindent 10 }}
  ports:
    - {port: {{ get $.kinds $callee | dig "port" 0 }}, protocol: TCP}
{{- end }}
{{- if .workload.log }}
{{- if $values.valkey.enabled }}
- to:
    - podSelector:
        matchLabels:
          {{- include "promontory.selectorOf" (dict "root" .root "name" "valkey") | nindent 10 }}
  ports:
    - {port: 6379, protocol: TCP}
{{- else }}
{{- $usual := ternary (list 6379 26379) (list 6379) (eq $values.redis.mode "sentinel") }}
{{- include "promontory.flow" (dict "way" "to" "peers" $policy.redis "ports" ($values.redis.ports | default $usual)) }}
{{- end }}
{{- end }}
{{- if and .workload.broker (include "promontory.hasBroker" .root) }}
{{- include "promontory.flow" (dict "way" "to" "peers" $policy.broker "ports" ($values.broker.ports | default (list 6379))) }}
{{- end }}
{{- if and .workload.log (hasPrefix "s3:" $values.archive.url) (ne .workload.kind "relay") (ne .workload.kind "functions") }}
{{- include "promontory.flow" (dict "way" "to" "peers" $policy.archive "ports" $values.archive.ports) }}
{{- end }}
{{- if and $values.tracing.url (or .workload.log .workload.broker) (ne .workload.kind "functions") }}
{{- include "promontory.flow" (dict "way" "to" "peers" $policy.tracing "ports" $values.tracing.ports) }}
{{- end }}
{{- end }}

{{- /* One rule: (dict "way" "to" or "from", "peers" PEERS, everyone if there are none, "ports" PORTS). */}}
{{- define "promontory.flow" }}
- ports:
    {{- range .ports }}
    - {port: {{ . | int }}, protocol: TCP}
    {{- end }}
  {{- with .peers }}
  {{ $.way }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
