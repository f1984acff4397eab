{{- /* Envoy's container: (dict "root" $ "name" NAME "workload" WORKLOAD "volumes" VOLUMES). */}}
{{- define "promontory.edge" -}}
{{- $values := .root.Values -}}
- name: edge
  image: {{ include "promontory.image" (dict "image" $values.edge.image) }}
  imagePullPolicy: {{ $values.edge.image.pullPolicy }}
  command: [envoy]
  args:
    - --config-path
    - /etc/envoy/envoy.yaml
    - --disable-hot-restart
    - --drain-time-s
    - {{ $values.edge.drainSeconds | quote }}
    - --log-level
    - warning
  ports:
    - name: edge
      containerPort: 8080
      protocol: TCP
    - name: metrics
      containerPort: 9401
      protocol: TCP
  {{- range $probe := list "startup" "liveness" "readiness" }}
  {{ $probe }}Probe:
    httpGet:
      path: /ready
      port: metrics
    timeoutSeconds: {{ $values.probes.timeoutSeconds }}
    {{- if eq $probe "startup" }}
    periodSeconds: 3
    failureThreshold: {{ divf $values.probes.startupSeconds 3 | ceil }}
    {{- else }}
    periodSeconds: {{ $values.probes.periodSeconds }}
    failureThreshold: {{ $values.probes.failureThreshold }}
    {{- end }}
  {{- end }}
  lifecycle:
    preStop:
      exec:
        command:
          - bash
          - -c
          - {{ include "promontory.edgeDrain" $values | toJson }}
  resources:
    {{- toYaml .workload.spec.resources | nindent 4 }}
  securityContext:
    {{- toYaml $values.security.container | nindent 4 }}
  volumeMounts:
    {{- include "promontory.mounts" .volumes | nindent 4 }}
{{- end }}

{{- /* Go on until no new connections come, then ask clients to go elsewhere, one after the other. */}}
{{- define "promontory.edgeDrain" -}}
sleep {{ .preStopSeconds }}
exec 3<>/dev/tcp/127.0.0.1/9901
printf 'POST /drain_listeners?graceful&skip_exit HTTP/1.1\r\nHost: edge\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' >&3
sleep {{ .edge.drainSeconds }}
{{- end }}

{{- define "promontory.edgeVolumes" -}}
- name: tmp
  mountPath: /tmp
  emptyDir:
    sizeLimit: 16Mi
- name: config
  mountPath: /etc/envoy
  configMap:
    name: {{ include "promontory.fullname" . }}-edge
{{ with .Values.edge.tls.secretName -}}
- name: tls
  mountPath: /etc/promontory/tls
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{ end -}}
{{- end }}

{{- /* Envoy's configuration. Routes go by the packages of the protos, so a game more is a route more. */}}
{{- define "promontory.envoy" -}}
{{- $workloads := include "promontory.workloads" . | fromYaml -}}
node: {id: edge, cluster: promontory}
admin:
  address:
    socket_address: {address: 127.0.0.1, port_value: 9901}
overload_manager:
  resource_monitors:
    - name: envoy.resource_monitors.global_downstream_max_connections
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig
        max_active_downstream_connections: {{ .Values.edge.maxConnections | int64 }}
static_resources:
  listeners:
    - name: edge
      address:
        socket_address: {address: "{{ .Values.listenHost | trimAll "[]" }}", port_value: 8080, ipv4_compat: {{ contains ":" .Values.listenHost }}}
      per_connection_buffer_limit_bytes: 32768
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                {{- include "promontory.envoyHttp" (dict "root" . "workloads" $workloads) | nindent 16 }}
          {{- if .Values.edge.tls.secretName }}
          transport_socket:
            name: envoy.transport_sockets.tls
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
              common_tls_context:
                alpn_protocols: [h2, http/1.1]
                tls_params: {tls_minimum_protocol_version: TLSv1_2}
                tls_certificate_sds_secret_configs:
                  - name: edge
                    sds_config:
                      resource_api_version: V3
                      path_config_source:
                        path: /etc/envoy/certificate.yaml
                        watched_directory: {path: /etc/promontory/tls}
          {{- end }}
    - name: metrics
      ignore_global_conn_limit: true
      address:
        socket_address: {address: "{{ .Values.listenHost | trimAll "[]" }}", port_value: 9401, ipv4_compat: {{ contains ":" .Values.listenHost }}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: metrics
                route_config:
                  virtual_hosts:
                    - name: metrics
                      domains: ["*"]
                      routes:
                        - {match: {path: /ready}, route: {cluster: admin}}
                        - {match: {path: /stats/prometheus}, route: {cluster: admin}}
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
  clusters:
    - name: admin
      type: STATIC
      load_assignment:
        cluster_name: admin
        endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 9901}}}}]}]
    {{- range $name, $workload := $workloads }}
    {{- if and $workload.serves $workload.packages }}
    - name: {{ $name }}
      cluster_type:
        name: envoy.cluster.dns
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster
          dns_refresh_rate: 5s
      connect_timeout: 2s
      lb_policy: LEAST_REQUEST
      ignore_health_on_host_removal: true
      load_assignment:
        cluster_name: {{ $name }}
        endpoints:
          - lb_endpoints:
              - endpoint:
                  address:
                    socket_address: {address: {{ include "promontory.host" (dict "root" $ "name" $name) }}, port_value: 7401}
      health_checks:
        - timeout: 2s
          interval: 5s
          unhealthy_threshold: 2
          healthy_threshold: 1
          grpc_health_check: {service_name: {{ $workload.health }}}
      circuit_breakers:
        thresholds: [{max_connections: 10000, max_pending_requests: 10000, max_requests: 100000}]
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config:
            http2_protocol_options:
              connection_keepalive: {interval: 30s, timeout: 10s}
    {{- end }}
    {{- end }}
{{- end }}

{{- /* The edge's own part of it: what a call goes through. */}}
{{- define "promontory.envoyHttp" -}}
{{- $edge := .root.Values.edge -}}
"@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
stat_prefix: edge
use_remote_address: true
server_header_transformation: PASS_THROUGH
normalize_path: true
stream_idle_timeout: 900s
request_headers_timeout: 10s
common_http_protocol_options:
  idle_timeout: 900s
  max_connection_duration: 3600s
  headers_with_underscores_action: REJECT_REQUEST
http2_protocol_options:
  max_concurrent_streams: 1000
  initial_stream_window_size: 65536
  initial_connection_window_size: 1048576
  connection_keepalive: {interval: 30s, timeout: 10s}
{{- if $edge.accessLog }}
access_log:
  - name: envoy.access_loggers.stdout
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog
      log_format:
        json_format:
          event: call_passed
          path: "%REQ(:PATH)%"
          code: "%GRPC_STATUS%"
          http_code: "%RESPONSE_CODE%"
          flags: "%RESPONSE_FLAGS%"
          duration_ms: "%DURATION%"
          client: "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"
{{- end }}
http_filters:
  - name: envoy.filters.http.grpc_web
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.filters.http.grpc_web.v3.GrpcWeb
  - name: envoy.filters.http.cors
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors
  - name: envoy.filters.http.grpc_stats
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.filters.http.grpc_stats.v3.FilterConfig
      emit_filter_state: true
      stats_for_all_methods: false
  - name: envoy.filters.http.router
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
route_config:
  name: edge
  virtual_hosts:
    - name: edge
      domains: ["*"]
      {{- with $edge.cors.allowOrigins }}
      typed_per_filter_config:
        envoy.filters.http.cors:
          "@type": type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy
          allow_origin_string_match:
            {{- range . }}
            - {{ if eq . "*" }}safe_regex: {regex: ".*"}{{ else }}exact: {{ . | quote }}{{ end }}
            {{- end }}
          allow_methods: POST
          allow_headers: authorization,content-type,grpc-timeout,x-grpc-web,x-user-agent
          expose_headers: grpc-status,grpc-message,grpc-status-details-bin
          max_age: "86400"
      {{- end }}
      routes:
        {{- range $name, $workload := .workloads }}
        {{- range $package := $workload.packages }}
        - match: {prefix: /promontory.api.{{ $package }}.v1.}
          route:
            cluster: {{ $name }}
            timeout: 0s
            max_stream_duration: {grpc_timeout_header_max: 0s}
            retry_policy:
              retry_on: connect-failure,refused-stream
              num_retries: 2
              retry_host_predicate:
                - name: envoy.retry_host_predicates.previous_hosts
                  typed_config:
                    "@type": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate
        {{- end }}
        {{- end }}
{{- end }}
