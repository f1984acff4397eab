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
{{- $ports := include "promontory.ports" (dict "given" $values.redis.ports "url" $values.redis.url "mode" $values.redis.mode) | fromYamlArray }}
{{- include "promontory.flow" (dict "way" "to" "peers" $policy.redis "ports" $ports) }}
{{- end }}
{{- end }}
{{- if and .workload.broker (include "promontory.hasBroker" .root) }}
{{- $ports := include "promontory.ports" (dict "given" $values.broker.ports "url" $values.broker.url) | fromYamlArray }}
{{- include "promontory.flow" (dict "way" "to" "peers" $policy.broker "ports" $ports) }}
{{- end }}
{{- if and .workload.log (hasPrefix "s3:" $values.archive.url) (not (has .workload.kind (list "relay" "functions" "backup"))) }}
{{- $store := regexFind "endpoint=[^&]+" $values.archive.url | trimPrefix "endpoint=" | replace "%3A" ":" | replace "%2F" "/" }}
{{- $ports := include "promontory.ports" (dict "given" $values.archive.ports "url" ($store | default "https://")) | fromYamlArray }}
{{- include "promontory.flow" (dict "way" "to" "peers" $policy.archive "ports" $ports) }}
{{- end }}
{{- if and $values.tracing.url (or .workload.log .workload.broker) (not (has .workload.kind (list "functions" "backup"))) }}
{{- $ports := include "promontory.ports" (dict "given" $values.tracing.ports "url" $values.tracing.url) | fromYamlArray }}
{{- include "promontory.flow" (dict "way" "to" "peers" $policy.tracing "ports" $ports) }}
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

{{- /*
The ports that a server is reached by: those `given`, else those in its `url`, else what is usual for it. Sentinel tells of
a server that has its usual one: (dict "given" PORTS "url" URL "mode" MODE, if no URL tells it).
*/}}
{{- define "promontory.ports" -}}
{{- $scheme := regexFind "^[a-z]+:" .url | trimSuffix ":" | default .mode | default "" -}}
{{- $hosts := .url | regexFind "//[^/?]*" | trimPrefix "//" | regexFind "[^@]*$" -}}
{{- $found := list -}}
{{- range regexFindAll ":[0-9]+(,|$)" $hosts -1 }}{{ $found = append $found (regexFind "[0-9]+" . | int) }}{{ end -}}
{{- $sentinel := hasPrefix "sentinel" $scheme -}}
{{- $usual := dict "http" 80 "https" 443 | dig $scheme (ternary 26379 6379 $sentinel) -}}
{{- $found = $found | default (list $usual) -}}
{{- if $sentinel }}{{ $found = append $found 6379 | uniq }}{{ end -}}
{{- toYaml (.given | default $found) -}}
{{- end }}
