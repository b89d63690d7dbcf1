{{- /* True if workers ask the Triton server of this release. */ -}}
{{- define "dehusk.ownTriton" -}}
{{ if and .Values.triton.enabled (eq .Values.worker.labeler "triton") }}true{{ end }}
{{- end }}

{{- define "dehusk.monitoringScheme" -}}
{{ empty .Values.monitoring.tls.existingSecret | ternary "http" "https" }}
{{- end }}

{{- define "dehusk.tritonAddress" -}}
{{ if .Values.triton.enabled }}{{ include "dehusk.triton" . }}:8001{{ else }}{{ .Values.triton.address }}{{ end }}
{{- end }}

{{- /* The arguments of `dehusk`, a YAML list. How Kafka and Redis are reached is in the environment below. */ -}}
{{- define "dehusk.arguments" -}}
- worker
{{- include "dehusk.topicArguments" . }}
{{- include "dehusk.labelerArguments" . }}
{{- include "dehusk.documentArguments" . }}
{{- with .Values.worker }}
- --processes={{ int .processes }}
- --page-seconds={{ .pageSeconds }}
- --delivery={{ .delivery }}
- --session-seconds={{ .sessionSeconds }}
- --grace-seconds={{ .graceSeconds }}
{{- with .otlp }}
- {{ printf "--otlp=%s" . | quote }}
{{- end }}
- --log-level={{ .logLevel }}
{{- if .logJson }}
- --log-json
{{- end }}
{{- end }}
- --monitoring=0.0.0.0:{{ int .Values.monitoring.port }}
{{- with .Values.worker.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "dehusk.topicArguments" -}}
{{- with .Values.topics }}
- {{ printf "--input=%s" .input | quote }}
- {{ printf "--output=%s" .output | quote }}
- {{ printf "--dead-letters=%s" .deadLetters | quote }}
- {{ printf "--revisit-topic=%s" .revisits | quote }}
{{- end }}
{{- with .Values.worker }}
- --revisit-after={{ int .revisitAfter }}
- --unsure-below={{ .unsureBelow }}
- {{ printf "--group=%s" .group | quote }}
- --source={{ .source }}
{{- range .fields }}
- {{ printf "--field=%s" . | quote }}
{{- end }}
{{- with .schemaRegistry }}
- {{ printf "--schema-registry=%s" . | quote }}
{{- end }}
- --max-page-mib={{ int .maxPageMib }}
{{- end }}
{{- end }}

{{- define "dehusk.labelerArguments" -}}
{{- with .Values.worker }}
- --labeler={{ .labeler }}
- {{ printf "--model=%s" .model | quote }}
{{- with .modelVersion }}
- --model-version={{ . }}
{{- end }}
- --when-triton-is-unavailable={{ .whenTritonIsUnavailable }}
- --site-key={{ .siteKey }}
{{- end }}
{{- if eq .Values.worker.labeler "triton" }}
- {{ printf "--triton=%s" (include "dehusk.tritonAddress" .) | quote }}
{{- end }}
{{- end }}

{{- define "dehusk.documentArguments" -}}
{{- with .Values.worker }}
- --format={{ .format }}
- --compression={{ .compression }}
- --comments={{ .comments }}
- --hidden-text={{ .hiddenText }}
- --headline={{ .headline }}
- --metadata={{ .metadata }}
- --duplicates={{ .duplicates }}
- --favor={{ .favor }}
{{- with .exclude }}
- {{ printf "--exclude=%s" . | quote }}
{{- end }}
{{- if .withBlocks }}
- --with-blocks
{{- end }}
{{- if .withLinks }}
- --with-links
{{- end }}
{{- if .withMarkdown }}
- --with-markdown
{{- end }}
{{- if .withHtml }}
- --with-html
{{- end }}
{{- end }}
{{- end }}

{{- /* The environment, a YAML list: how Kafka and Redis are reached, for all commands of dehusk that run in the container,
and the variables of `worker.env`. */ -}}
{{- define "dehusk.environment" -}}
{{- include "dehusk.kafkaVariables" .Values.kafka }}
{{- include "dehusk.redisVariables" .Values.redis }}
{{- with .Values.topics }}
{{- include "dehusk.variable" (list "AUDIT_TOPIC" .audit) }}
{{- include "dehusk.variable" (list "UNSURE_TOPIC" .unsure) }}
{{- include "dehusk.variable" (list "MONITORING_TOPIC" .monitoring) }}
{{- include "dehusk.variable" (list "CONTROL_TOPIC" .control) }}
{{- end }}
{{- with .Values.monitoring }}
{{- include "dehusk.secretVariable" (list "MONITORING_TOKEN" .existingSecret .tokenKey) }}
{{- include "dehusk.fileVariables" (list "MONITORING" .tls "/etc/dehusk/monitoring") }}
{{- end }}
{{- with .Values.worker.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "dehusk.kafkaVariables" -}}
{{- include "dehusk.variable" (list "BROKERS" .brokers) }}
{{- include "dehusk.variable" (list "SECURITY_PROTOCOL" .securityProtocol) }}
{{- with .sasl }}
{{- include "dehusk.variable" (list "SASL_MECHANISM" .mechanism) }}
{{- include "dehusk.variable" (list "SASL_USERNAME" .username) }}
{{- include "dehusk.secretVariable" (list "SASL_PASSWORD" .existingSecret .passwordKey) }}
{{- include "dehusk.variable" (list "SASL_OAUTH_TOKEN_URL" .oauth.tokenUrl) }}
{{- include "dehusk.variable" (list "SASL_OAUTH_SCOPE" .oauth.scope) }}
{{- include "dehusk.variable" (list "SASL_OAUTH_AUDIENCE" .oauth.audience) }}
{{- end }}
{{- include "dehusk.fileVariables" (list "TLS" .tls "/etc/dehusk/kafka") }}
{{- end }}

{{- define "dehusk.redisVariables" -}}
{{- if .existingSecret }}
{{- include "dehusk.secretVariable" (list "REDIS" .existingSecret .urlKey) }}
{{- else }}
{{- include "dehusk.variable" (list "REDIS" .url) }}
{{- end }}
{{- include "dehusk.variable" (list "REDIS_CLUSTER" (.cluster | ternary "true" "")) }}
{{- include "dehusk.fileVariables" (list "REDIS" .tls "/etc/dehusk/redis") }}
{{- end }}

{{- /* The files of a Secret that is mounted in a folder: (list PREFIX tls FOLDER). */ -}}
{{- define "dehusk.fileVariables" -}}
{{- $prefix := index . 0 }}
{{- $folder := index . 2 }}
{{- with index . 1 }}
{{- if .existingSecret }}
{{- range $name, $key := dict "CA" .caKey "CERTIFICATE" .certificateKey "KEY" .keyKey }}
{{- include "dehusk.variable" (list (printf "%s_%s_FILE" $prefix $name) (empty $key | ternary "" (printf "%s/%s" $folder $key))) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A variable: (list NAME value); nothing if the value is empty. */ -}}
{{- define "dehusk.variable" -}}
{{- if index . 1 }}
- name: DEHUSK_{{ index . 0 }}
  value: {{ index . 1 | quote }}
{{- end }}
{{- end }}

{{- /* A variable from a key of a Secret: (list NAME secret key); nothing if the Secret has no name. */ -}}
{{- define "dehusk.secretVariable" -}}
{{- if index . 1 }}
- name: DEHUSK_{{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 1 | quote }}
      key: {{ index . 2 | quote }}
{{- end }}
{{- end }}
