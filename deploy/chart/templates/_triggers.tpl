{{- /*
What KEDA scales a queue's workers by: (dict "root" $ "workload" WORKLOAD). Empty for other workloads, without KEDA, and
if it has nothing to look at; then the number of pods is the workload's own.
*/}}
{{- define "promontory.triggers" -}}
{{- if and .workload.queue .root.Values.keda.enabled -}}
{{- $values := .root.Values -}}
{{- $keda := dig "keda" dict .workload.spec -}}
{{- $own := printf "{namespace=%q}" .root.Release.Namespace -}}
{{- if $values.keda.prometheusAddress }}
{{- range $metric, $threshold := dict
      (printf "sum(max by (game) (promontory_obligations_due%s))" $own) $keda.dueObligations
      (printf "max(promontory_oldest_obligation_seconds%s)" $own) $keda.oldestSeconds }}
{{- if $threshold }}
- type: prometheus
  metadata:
    serverAddress: {{ $values.keda.prometheusAddress }}
    query: {{ $metric }}
    threshold: {{ include "promontory.text" $threshold | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- if $values.keda.broker.address }}
- type: redis
  metadata:
    address: {{ $values.keda.broker.address }}
    databaseIndex: {{ $values.keda.broker.database | quote }}
    listName: {{ .workload.queue }}
    listLength: {{ $keda.queueLength | default 10 | int | quote }}
  {{- if $values.keda.broker.passwordSecret }}
  authenticationRef:
    name: {{ include "promontory.fullname" .root }}-broker
  {{- end }}
{{- end }}
{{- end }}
{{- end }}
