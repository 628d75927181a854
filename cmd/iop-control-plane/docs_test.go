package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// pages are the project's own, by path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md"} {
		paths, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(path, "../../")] = string(content)
		}
	}
	return all
}

// anchors are what a page's headings are called in links.
func anchors(page string) (all []string) {
	fenced := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(page, "")
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(fenced, -1) {
		plain := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}

// links are those of a page that stay within the project.
func links(page string) (all []string) {
	for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(m[1], "://") {
			all = append(all, m[1])
		}
	}
	return all
}

// TestLinksOfThePages: each leads to a file that is there, and to a heading that it has.
func TestLinksOfThePages(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for from, page := range all {
		for _, link := range links(page) {
			path, anchor, _ := strings.Cut(link, "#")
			target := from
			if path != "" {
				target = filepath.Join(filepath.Dir(from), path)
			}
			if _, err := os.Stat("../../" + target); err != nil {
				t.Errorf("%s: nothing is at %s", from, link)
			} else if anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
				t.Errorf("%s: %s has no heading for %s", from, target, link)
			}
		}
	}
}

// TestLinksInThePackages: each page that a Debian package has links only to what the same package has, there where it has it.
func TestLinksInThePackages(t *testing.T) {
	t.Parallel()
	all := pages(t)
	descriptions, err := filepath.Glob("../../deploy/debian/nfpm.*.yaml")
	if err != nil || len(descriptions) == 0 {
		t.Fatalf("%v, %v", descriptions, err)
	}
	for _, path := range descriptions {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var described struct{ Contents []struct{ Src, Dst string } }
		if err := yaml.Unmarshal(content, &described); err != nil {
			t.Fatal(err)
		}
		shipped := map[string]bool{}
		for _, c := range described.Contents {
			shipped[c.Dst] = true
		}
		for _, c := range described.Contents {
			for _, link := range links(all[c.Src]) {
				target, _, _ := strings.Cut(link, "#")
				if target != "" && !shipped[filepath.Join(filepath.Dir(c.Dst), target)] {
					t.Errorf("%s: %s links to %s, which the package doesn't have", filepath.Base(path), c.Dst, link)
				}
			}
		}
	}
}

// TestWordsAreExplained: whatever code, reason, state or kind an operator is shown stands in troubleshooting.md as it is shown.
func TestWordsAreExplained(t *testing.T) {
	t.Parallel()
	spec, err := os.ReadFile("../../httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page := pages(t)["docs/troubleshooting.md"]
	for name, first := range map[string]string{"codes": "invalid_request", "reasons": "goodbye", "states of operations": "pending", "kinds of events": "edge_connected"} {
		m := regexp.MustCompile(`enum: \[(` + first + `,[^\]]*)\]`).FindSubmatch(spec)
		if m == nil {
			t.Fatalf("openapi.yaml has no %s that begin with %s", name, first)
		}
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(string(m[1]), -1) {
			if word != "null" && !strings.Contains(page, "`"+word+"`") {
				t.Errorf("troubleshooting.md doesn't have %s, one of the %s", word, name)
			}
		}
	}
}
