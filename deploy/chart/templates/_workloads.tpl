{{- /*
What the kinds of processes are, and whom each one speaks to. Network policies, environment and mounted keys follow from
this one table. `port` is where a kind takes calls. `packages` are those of the protos below `promontory.api` that the
edge routes to a kind; a game's rules have the package that is called as the game, and admins' service has none. That one
knows the broker for `promontory admin doctor`, which is run in its pod.
*/}}
{{- define "promontory.kinds" -}}
rules:       {serves: true,  port: 7401, log: true,  broker: false, calls: [], keys: [players, services, seal]}
matchmaking: {serves: true,  port: 7401, log: true,  broker: false, calls: [rules, scoring], keys: [players, services, own],
              health: promontory.api.matchmaking.v1.MatchmakingService, packages: [matchmaking, lobby, players]}
scoring:     {serves: true,  port: 7401, log: true,  broker: false, calls: [], keys: [players, services],
              health: promontory.api.scoring.v1.ScoringService, packages: [scoring]}
admin:       {serves: true,  port: 7404, log: true,  broker: true,  calls: [rules, matchmaking, scoring],
              keys: [players, services, own], health: promontory.api.admin.v1.AdminService}
relay:       {serves: false, log: true,  broker: true,  calls: [rules], keys: [own]}
workers:     {serves: false, log: true,  broker: true,  calls: [rules, scoring, matchmaking], keys: [own]}
edge:        {serves: false, port: 8080, log: false, broker: false, calls: [rules, matchmaking, scoring], keys: []}
test:        {serves: false, log: false, broker: false, calls: [rules, matchmaking, scoring, edge], keys: []}
functions:   {serves: false, log: true,  broker: false, calls: [], keys: []}
backup:      {serves: false, log: true,  broker: false, calls: [], keys: []}
{{- end }}

{{- /*
The workloads by name, as YAML. Each is its kind's row of the table above, with `kind`, `args`, `spec` (the values:
defaults, then the kind's, then its own), `grace` (how long it may take to stop, in seconds), and what it is about:
`game`, `queue`.
*/}}
{{- define "promontory.workloads" -}}
{{- $kinds := include "promontory.kinds" . | fromYaml -}}
{{- $found := dict -}}
{{- range $game, $own := .Values.games -}}
  {{- $spec := mergeOverwrite (deepCopy $.Values.defaults) (deepCopy $.Values.rules) (deepCopy ($own | default dict)) -}}
  {{- if ne "false" (get $spec "enabled" | toString) -}}
    {{- $camel := "" -}}
    {{- range splitList "_" $game }}{{ $camel = print $camel (title .) }}{{ end -}}
    {{- $about := dict "kind" "rules" "game" $game "args" (list "serve" "rules" "--game" $game) "packages" (list $game)
          "health" (printf "promontory.api.%s.v1.%sService" $game $camel) "spec" $spec -}}
    {{- $_ := set $found (printf "rules-%s" ($game | replace "_" "-")) (mergeOverwrite (deepCopy $kinds.rules) $about) -}}
  {{- end -}}
{{- end -}}
{{- range $kind := list "matchmaking" "scoring" "admin" "relay" "edge" -}}
  {{- $spec := mergeOverwrite (deepCopy $.Values.defaults) (deepCopy (get $.Values $kind)) -}}
  {{- if ne "false" (get $spec "enabled" | toString) -}}
    {{- $args := ternary (list "relay") (list "serve" $kind) (eq $kind "relay") -}}
    {{- $about := dict "kind" $kind "args" $args "spec" $spec -}}
    {{- $_ := set $found $kind (mergeOverwrite (deepCopy (get $kinds $kind)) $about) -}}
  {{- end -}}
{{- end -}}
{{- range $queue, $own := .Values.workers -}}
  {{- if or (ne $queue "archive") $.Values.archive.url -}}
    {{- $spec := mergeOverwrite (deepCopy $.Values.defaults) (deepCopy ($own | default dict)) -}}
    {{- $log := or (eq $queue "archive") (not (include "promontory.hasBroker" $)) -}}
    {{- $about := dict "kind" "workers" "queue" $queue "args" (list "work") "spec" $spec "log" $log -}}
    {{- $_ := set $found (printf "workers-%s" $queue) (mergeOverwrite (deepCopy $kinds.workers) $about) -}}
  {{- end -}}
{{- end -}}
{{- range $found }}{{ $_ := set . "grace" (include "promontory.grace" (dict "root" $ "workload" .) | int) }}{{ end -}}
{{- toYaml $found -}}
{{- end }}

{{- /*
How long a workload may take to stop: until all know that it is to, then its own drain, then the watchdog's five seconds
and five more. A worker's drain is the task under way.
*/}}
{{- define "promontory.grace" -}}
{{- $settings := .workload.spec.settings -}}
{{- $drain := 20 -}}
{{- if eq .workload.kind "edge" }}{{ $drain = .workload.spec.drainSeconds -}}
{{- else if .workload.queue }}{{ $drain = add 10 (get $settings "TASK_SECONDS" | default 20 | ceil) -}}
{{- else }}{{ $drain = get $settings "DRAIN_SECONDS" | default 20 | ceil }}{{ end -}}
{{- add .root.Values.preStopSeconds $drain 10 -}}
{{- end }}

{{- /* Not empty if the broker is given. */}}
{{- define "promontory.hasBroker" -}}
{{- or .Values.broker.url .Values.broker.existingSecret.name | default "" -}}
{{- end }}

{{- /* What is wrong with the values that the schema cannot see. */}}
{{- define "promontory.check" -}}
{{- $servers := compact (list (ternary "valkey.enabled" "" .Values.valkey.enabled) (ternary "redis.url" "" (ne "" .Values.redis.url)) (ternary "redis.existingSecret" "" (ne "" .Values.redis.existingSecret.name))) -}}
{{- if ne 1 (len $servers) -}}
{{- fail (printf "say where the event log is, in one way: redis.existingSecret.name, redis.url, or valkey.enabled for a trial; given: %s" (join ", " $servers | default "none")) -}}
{{- end -}}
{{- if and (ne .Values.redis.mode "single") (not (include "promontory.hasBroker" .)) -}}
{{- fail (printf "with redis.mode %s the workers' broker must be a server of its own: give broker.existingSecret.name or broker.url" .Values.redis.mode) -}}
{{- end -}}
{{- if and .Values.valkey.enabled (ne .Values.redis.mode "single") -}}
{{- fail "valkey.enabled is a single server: leave redis.mode at single" -}}
{{- end -}}
{{- if and (hasPrefix "file:" .Values.archive.url) (not .Values.archive.claim) -}}
{{- fail "archive.url is a directory: give archive.claim, a PersistentVolumeClaim that is mounted at /archive" -}}
{{- end -}}
{{- if and .Values.backup.enabled (not .Values.backup.claim) -}}
{{- fail "backup.enabled needs a place: give backup.claim, a PersistentVolumeClaim that is mounted at /backups" -}}
{{- end -}}
{{- if and .Values.test.token.secretName (not (include "promontory.workloads" . | fromYaml | dig (printf "rules-%s" (.Values.test.game | replace "_" "-")) "")) -}}
{{- fail (printf "test.game is not among the games that are served: %s" .Values.test.game) -}}
{{- end -}}
{{- if and .Values.keda.enabled (not (or .Values.keda.prometheusAddress .Values.keda.broker.address)) -}}
{{- fail "keda.enabled needs something to look at: give keda.prometheusAddress or keda.broker.address" -}}
{{- end -}}
{{- if not (include "promontory.workloads" . | fromYaml | dig "matchmaking" "") }}{{ fail "the workloads could not be read" }}{{ end -}}
{{- if not .Values.games }}{{ fail "games names no game" }}{{ end -}}
{{- end }}

{{- /* How functions are loaded: job, init or none. */}}
{{- define "promontory.functionsMode" -}}
{{- if eq .Values.loadFunctions.mode "auto" -}}
{{ ternary "init" "job" .Values.valkey.enabled }}
{{- else -}}
{{ .Values.loadFunctions.mode }}
{{- end -}}
{{- end }}
