package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// alert is one of the rules, or of the guide: its name and its severity.
type alert struct{ name, severity string }

func alertsBy(t *testing.T, pattern, file string) map[string]alert {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]alert{}
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(content, -1) {
		all[string(m[1])] = alert{string(m[1]), string(m[2])}
	}
	return all
}

// TestAlertsHaveTheirPage: whoever is woken finds the alert's name, a row that says whether it was right to get up, and what to do.
func TestAlertsHaveTheirPage(t *testing.T) {
	t.Parallel()
	const guide = "../../docs/alerts.md"
	rules := alertsBy(t, `(?s)- alert: (\w+)\n.*?labels: \{severity: (\w+)\}`, rulesFile)
	rows := alertsBy(t, `(?m)^\| \[(\w+)\]\(#\w+\) \| (\w+) \|`, guide)
	sections := alertsBy(t, `(?m)^## (IOP\w+)()$`, guide)
	for _, name := range alertsIn(t, rulesFile) {
		if rules[name] != rows[name] {
			t.Errorf("%s is %q in the rules, and %q in the guide's table", name, rules[name], rows[name])
		}
		if sections[name].name == "" {
			t.Errorf("the guide has no section %s", name)
		}
	}
	if len(rows) != len(rules) || len(sections) != len(rules) {
		t.Errorf("%d alerts, but %d rows and %d sections", len(rules), len(rows), len(sections))
	}
	content, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	for name := range rules {
		if !strings.Contains(string(content), "["+name+"](#"+strings.ToLower(name)+")") {
			t.Errorf("the row of %s doesn't lead to its section", name)
		}
	}
}
