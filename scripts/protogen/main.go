// Command protogen writes the Go code of proto/ with nothing but Go: the compiler is a library, and
// protoc-gen-go is the one that go.mod pins. So neither protoc nor npm is needed to regenerate.
//
//	go run ./scripts/protogen           write proto/**/*.pb.go
//	go run ./scripts/protogen -check    exit 1 when what is written differs from what would be
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const root = "proto"

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	files, err := generate()
	if err != nil {
		return err
	}
	stale, err := staleFiles(root, files)
	if err != nil {
		return err
	}
	if check && len(stale) > 0 {
		return fmt.Errorf("not what the .proto files say; run 'make proto': %s", strings.Join(stale, ", "))
	}
	for _, path := range stale {
		if err := replace(path, files); err != nil {
			return err
		}
	}
	return nil
}

// staleFiles are the paths of generated code below dir that differ from files, are missing, or are left over.
func staleFiles(dir string, files map[string][]byte) ([]string, error) {
	var stale []string
	for name, content := range files {
		path := filepath.Join(dir, name)
		if on, err := os.ReadFile(path); err != nil || !bytes.Equal(on, content) {
			stale = append(stale, path)
		}
	}
	generated, err := filesBelow(dir, ".pb.go")
	for _, name := range generated {
		if _, known := files[name]; !known {
			stale = append(stale, filepath.Join(dir, name))
		}
	}
	slices.Sort(stale)
	return stale, err
}

// replace writes a stale file anew, or removes it where no .proto file makes it.
func replace(path string, files map[string][]byte) error {
	name, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	content, ok := files[filepath.ToSlash(name)]
	if !ok {
		return os.Remove(path)
	}
	return os.WriteFile(path, content, 0o644)
}

func generate() (map[string][]byte, error) {
	names, err := filesBelow(root, ".proto")
	if err != nil {
		return nil, err
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return nil, err
	}
	req := &pluginpb.CodeGeneratorRequest{FileToGenerate: names, Parameter: proto.String("paths=source_relative")}
	seen := map[string]bool{}
	for _, f := range compiled {
		addWithImports(req, seen, f)
	}
	return callPlugin(req)
}

// filesBelow are the names below dir that end so, with slashes.
func filesBelow(dir, suffix string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, suffix) {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	return names, err
}

// addWithImports puts imports before the files that need them, as the plugin protocol asks.
func addWithImports(req *pluginpb.CodeGeneratorRequest, seen map[string]bool, f protoreflect.FileDescriptor) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		addWithImports(req, seen, f.Imports().Get(i).FileDescriptor)
	}
	var d *descriptorpb.FileDescriptorProto = protoutil.ProtoFromFileDescriptor(f)
	req.ProtoFile = append(req.ProtoFile, d)
}

func callPlugin(req *pluginpb.CodeGeneratorRequest) (map[string][]byte, error) {
	in, err := proto.Marshal(req)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "run", "google.golang.org/protobuf/cmd/protoc-gen-go")
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("protoc-gen-go: %w", err)
	}
	res := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(out, res); err != nil {
		return nil, err
	}
	if res.Error != nil {
		return nil, errors.New(res.GetError())
	}
	files := map[string][]byte{}
	for _, f := range res.File {
		files[f.GetName()] = []byte(f.GetContent())
	}
	return files, nil
}
