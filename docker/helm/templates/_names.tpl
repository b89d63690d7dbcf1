{{- define "dehusk.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* At most 40 characters, so that what is appended fits into 63. */ -}}
{{- define "dehusk.fullname" -}}
{{- $name := include "dehusk.name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "dehusk.triton" -}}
{{ include "dehusk.fullname" . }}-triton
{{- end }}

{{- define "dehusk.serviceAccount" -}}
{{ default (include "dehusk.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- define "dehusk.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}

{{- define "dehusk.labels" -}}
{{ include "dehusk.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "dehusk.selector" -}}
app.kubernetes.io/name: {{ include "dehusk.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "dehusk.workerSelector" -}}
{{ include "dehusk.selector" . }}
app.kubernetes.io/component: worker
{{- end }}

{{- define "dehusk.tritonSelector" -}}
{{ include "dehusk.selector" . }}
app.kubernetes.io/component: triton
{{- end }}
