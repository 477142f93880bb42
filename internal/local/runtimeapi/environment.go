package runtimeapi

import (
	"maps"
	"path/filepath"
	"strconv"
)

// reserved are the variables that Lambda sets itself. Lambda refuses a function that declares any of them:
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime.
const reserved = "_HANDLER _X_AMZN_TRACE_ID AWS_DEFAULT_REGION AWS_REGION AWS_EXECUTION_ENV " +
	"AWS_LAMBDA_FUNCTION_NAME AWS_LAMBDA_FUNCTION_MEMORY_SIZE AWS_LAMBDA_FUNCTION_VERSION " +
	"AWS_LAMBDA_INITIALIZATION_TYPE AWS_LAMBDA_LOG_GROUP_NAME AWS_LAMBDA_LOG_STREAM_NAME " +
	"AWS_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN " +
	"AWS_LAMBDA_RUNTIME_API AWS_LAMBDA_MAX_CONCURRENCY LAMBDA_TASK_ROOT LAMBDA_RUNTIME_DIR"

// environment returns the variables for every process of the function. Only the address of the process's runtime API is missing.
// Nothing is inherited from this program.
func (f Function) environment(config Config) []string {
	vars := map[string]string{
		// A function's own variables override these.
		"LANG": "en_US.UTF-8",
		"PATH": "/usr/local/bin:/usr/bin/:/bin:/opt/bin",
		"TZ":   ":UTC",
	}
	maps.Copy(vars, f.Env)
	maps.Copy(vars, map[string]string{
		"_HANDLER":                        f.Handler,
		"AWS_DEFAULT_REGION":              config.Region,
		"AWS_REGION":                      config.Region,
		"AWS_ACCESS_KEY_ID":               config.AccessKey,
		"AWS_SECRET_ACCESS_KEY":           config.AccessKey,
		"AWS_LAMBDA_FUNCTION_NAME":        f.Name,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(f.MemorySize),
		"AWS_LAMBDA_FUNCTION_VERSION":     "$LATEST",
		"AWS_LAMBDA_INITIALIZATION_TYPE":  "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/" + f.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME":      "local",
		"LAMBDA_TASK_ROOT":                filepath.Dir(f.Path),
	})
	var env []string
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	return env
}
