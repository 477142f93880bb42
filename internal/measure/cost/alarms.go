package cost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// alarmMetrics counts the metrics of the alarms of the checkout at root: AWS bills an alarm by those that it looks at.
func alarmMetrics(root string) (int64, error) {
	name := filepath.Join(root, "infra", "alarms.yaml")
	text, err := os.ReadFile(name) //nolint:gosec // a file of the checkout
	if err != nil {
		return 0, err
	}
	var template struct {
		Resources map[string]struct {
			Type       string `yaml:"Type"`
			Properties struct {
				MetricName string `yaml:"MetricName"`
				Metrics    []struct {
					MetricStat *yaml.Node `yaml:"MetricStat"`
				} `yaml:"Metrics"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	var count int64
	for _, resource := range template.Resources {
		if resource.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		if resource.Properties.MetricName != "" {
			count++
		}
		for _, metric := range resource.Properties.Metrics {
			if metric.MetricStat != nil {
				count++
			}
		}
	}
	if count == 0 {
		return 0, errors.New(name + ": no alarms")
	}
	return count, nil
}
