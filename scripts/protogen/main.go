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
	var stale []string
	for name, content := range files {
		path := filepath.Join(root, name)
		if check {
			if on, err := os.ReadFile(path); err != nil || !bytes.Equal(on, content) {
				stale = append(stale, path)
			}
			continue
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	if len(stale) > 0 {
		return fmt.Errorf("not what the .proto files say; run 'make proto': %s", strings.Join(stale, ", "))
	}
	return nil
}

func generate() (map[string][]byte, error) {
	names, err := protoFiles()
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

func protoFiles() (names []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".proto") {
			rel, _ := filepath.Rel(root, path)
			names = append(names, filepath.ToSlash(rel))
		}
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
