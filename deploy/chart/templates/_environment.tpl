{{- /* The event log's URL, as environment: (dict "root" $ "secret" {name, key}, or none). */}}
{{- define "promontory.redisUrl" -}}
{{- $values := .root.Values -}}
{{- $secret := .secret | default $values.redis.existingSecret -}}
{{- if and $values.valkey.enabled (not .secret) -}}
{{- $secret = dict "name" (include "promontory.valkeySecret" .root) "key" "url" -}}
{{- end -}}
- name: PROMONTORY_REDIS_URL
{{- include "promontory.secretOrValue" (dict "secret" $secret "value" $values.redis.url) }}
{{- end }}

{{- define "promontory.secretOrValue" -}}
{{- if .secret.name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret.name }}
      key: {{ .secret.key }}
{{- else }}
  value: {{ .value | quote }}
{{- end }}
{{- end }}

{{- /* Everything that a process of ours reads: (dict "root" $ "name" NAME "workload" WORKLOAD). */}}
{{- define "promontory.environment" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
{{- $workload := .workload -}}
{{- if $workload.serves -}}
- name: PROMONTORY_LISTEN
  value: "{{ $values.listenHost }}:{{ $workload.port }}"
{{ end -}}
- name: PROMONTORY_METRICS_LISTEN
  value: "{{ $values.listenHost }}:9401"
{{ if $workload.log -}}
{{ include "promontory.redisUrl" (dict "root" $root) }}
{{ end -}}
{{ if and $workload.broker (include "promontory.hasBroker" $root) -}}
- name: PROMONTORY_BROKER_URL
{{- include "promontory.secretOrValue" (dict "secret" $values.broker.existingSecret "value" $values.broker.url) }}
{{ end -}}
{{ if has "rules" $workload.calls -}}
- name: PROMONTORY_RULES_TARGETS
  value: {{ include "promontory.rulesTargets" $root | quote }}
{{ end -}}
{{ range $peer := list "scoring" "matchmaking" -}}
{{ if has $peer $workload.calls -}}
- name: PROMONTORY_{{ upper $peer }}_TARGET
  value: {{ printf "%s:7401" (include "promontory.host" (dict "root" $root "name" $peer)) | quote }}
{{ end -}}
{{ end -}}
{{ range $key := $workload.keys -}}
- name: PROMONTORY_{{ dict "players" "PLAYER_KEYS" "services" "SERVICE_KEYS" "seal" "SEAL_KEY" "own" "SERVICE_KEY" | dig $key "" }}_FILE
  value: /etc/promontory/keys/{{ $key }}
{{ end -}}
{{ with $workload.queue -}}
- name: PROMONTORY_QUEUES
  value: {{ . }}
{{ end -}}
{{ if and $values.archive.url $workload.log (ne $workload.kind "relay") -}}
- name: PROMONTORY_ARCHIVE_URL
  value: {{ $values.archive.url | quote }}
{{ end -}}
{{ if and $values.tracing.url (or $workload.log $workload.broker) (ne $workload.kind "functions") -}}
- name: PROMONTORY_TRACES_URL
  value: {{ $values.tracing.url | quote }}
{{ end -}}
{{ with include "promontory.dataFiles" (dict "root" $root "workload" $workload) -}}
- name: PROMONTORY_DATA_FILES
  value: {{ . | trimSuffix "," | quote }}
{{ end -}}
{{ if and (eq $workload.kind "matchmaking") $values.matchmaking.pools -}}
- name: PROMONTORY_POOLS_FILE
  value: /etc/promontory/pools/pools.toml
{{ end -}}
{{ range $name, $value := $workload.spec.settings -}}
- name: PROMONTORY_{{ $name }}
  value: {{ include "promontory.text" $value | quote }}
{{ end -}}
{{- end }}

{{- /* Where the rules service of each game is. */}}
{{- define "promontory.rulesTargets" -}}
{{- $targets := list -}}
{{- range $name, $workload := include "promontory.workloads" . | fromYaml -}}
{{- if $workload.game -}}
{{- $targets = append $targets (printf "%s=%s:7401" $workload.game (include "promontory.host" (dict "root" $ "name" $name))) -}}
{{- end -}}
{{- end -}}
{{- join "," $targets -}}
{{- end }}

{{- /*
Whether a workload has the operator's data of a game: its rules, the workers that archive, and the admin's pod, where the
doctor is run: (dict "workload" WORKLOAD "game" GAME).
*/}}
{{- define "promontory.hasData" -}}
{{- if or (eq (toString .workload.game) .game) (eq (toString .workload.queue) "archive") (eq .workload.kind "admin") }}yes{{ end -}}
{{- end }}

{{- /* That data as the setting names it. */}}
{{- define "promontory.dataFiles" -}}
{{- range $game, $own := .root.Values.games -}}
{{- if include "promontory.hasData" (dict "workload" $.workload "game" $game) -}}
{{- range $index, $file := dig "data" list ($own | default dict) -}}
{{ $game }}=/etc/promontory/data/{{ $game | replace "_" "-" }}-{{ $index }}/{{ $file.key }},
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* The volumes of a process of ours, with where they are mounted in `mountPath`. */}}
{{- define "promontory.volumes" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
{{- $workload := .workload -}}
- name: tmp
  mountPath: /tmp
  emptyDir:
    sizeLimit: 128Mi
{{ if $workload.keys -}}
- name: keys
  mountPath: /etc/promontory/keys
  projected:
    defaultMode: 0440
    sources:
      {{- range $key := $workload.keys }}
      {{- $ref := get $values.keys (ternary $workload.kind $key (eq $key "own")) }}
      - secret:
          name: {{ $ref.secretName }}
          items:
            - key: {{ $ref.key }}
              path: {{ $key }}
      {{- end }}
{{ end -}}
{{ if and $workload.log $values.redis.ca.secretName -}}
- name: redis-ca
  mountPath: /etc/promontory/redis-ca
  secret:
    secretName: {{ $values.redis.ca.secretName }}
    defaultMode: 0440
    items:
      - key: {{ $values.redis.ca.key }}
        path: ca.crt
{{ end -}}
{{ if and (eq $workload.kind "matchmaking") $values.matchmaking.pools -}}
- name: pools
  mountPath: /etc/promontory/pools
  configMap:
    name: {{ include "promontory.fullname" $root }}-pools
{{ end -}}
{{ range $game, $own := $values.games -}}
{{ if include "promontory.hasData" (dict "workload" $workload "game" $game) -}}
{{ range $index, $file := dig "data" list ($own | default dict) -}}
- name: data-{{ $game | replace "_" "-" }}-{{ $index }}
  mountPath: /etc/promontory/data/{{ $game | replace "_" "-" }}-{{ $index }}
  configMap:
    name: {{ $file.configMap }}
    items:
      - key: {{ $file.key }}
        path: {{ $file.key }}
{{ end -}}
{{ end -}}
{{ end -}}
{{ if and $values.archive.claim $workload.log (ne $workload.kind "relay") -}}
- name: archive
  mountPath: /archive
  persistentVolumeClaim:
    claimName: {{ $values.archive.claim }}
{{ end -}}
{{- end }}
