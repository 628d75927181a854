package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGeneratedCodeIsCurrent fails when proto/ was changed and `make proto` forgotten, or generated code edited.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	t.Chdir("../..")
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("nothing is generated")
	}
	stale, err := staleFiles(root, files)
	if err != nil {
		t.Fatal(err)
	}
	if len(stale) > 0 {
		t.Errorf("not what the .proto files say; run 'make proto': %v", stale)
	}
}

func TestStaleFiles(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"same.pb.go": "a", "edited.pb.go": "b", "left/over.pb.go": "c", "hand.go": "d"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stale, err := staleFiles(dir, map[string][]byte{"same.pb.go": []byte("a"), "edited.pb.go": []byte("bb"), "missing.pb.go": []byte("e")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range stale {
		rel, _ := filepath.Rel(dir, path)
		got = append(got, filepath.ToSlash(rel))
	}
	if s := strings.Join(got, " "); s != "edited.pb.go left/over.pb.go missing.pb.go" {
		t.Errorf("stale are %q", s)
	}
}
