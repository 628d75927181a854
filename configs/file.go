package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxFile bounds every file that is read, in bytes.
const maxFile = 1 << 20

// decodeFile puts the text of a file into the struct that v is, on top of what is there.
func (r *report) decodeFile(file string, data []byte, v reflect.Value) {
	d := &decoder{report: r, file: file}
	if root := d.parse(data); root != nil {
		d.value(root, v, "", field{})
	}
}

// parse gives the one document of a text, or nil: it says nothing but comments and null, or the report tells what is wrong.
func (d *decoder) parse(data []byte) *yaml.Node {
	if line, wrong := unreadable(data); wrong != "" {
		d.at(place{d.file, line}, "", "%s", wrong)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		d.syntax(err)
		return nil
	}
	if err := decoder.Decode(&second); err == nil {
		d.wrong(&second, "", "begins a second document; expected one document in the file")
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
	}
	if root := document.Content[0]; root.ShortTag() != "!!null" {
		return root
	}
	return nil
}

var syntaxError = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?(.*)`)

// syntax reports what yaml.v3 says. It has a line for most faults, which can be that of the
// beginning of what wasn't ended, or the one above it.
func (d *decoder) syntax(err error) {
	parts := syntaxError.FindStringSubmatch(err.Error())
	if parts == nil {
		parts = []string{"", "", err.Error()}
	}
	line, _ := strconv.Atoi(parts[1])
	near := ""
	if line > 0 {
		near = " near this line"
	}
	d.at(place{d.file, line}, "", "is not YAML%s: %s", near, parts[2])
}

// unreadable finds what yaml.v3 would refuse without saying where.
func unreadable(data []byte) (line int, wrong string) {
	if len(data) > maxFile {
		return 0, fmt.Sprintf("is over %d bytes long; expected less", maxFile)
	}
	line = 1
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			return line, "has a byte that is not UTF-8; expected text in UTF-8"
		case c < ' ' && c != '\n' && c != '\r' && c != '\t':
			return line, fmt.Sprintf("has the control character %q; expected text", c)
		case c == '\n':
			line++
		}
		i += size
	}
	return 0, ""
}

// readFile reads at most a little over maxFile, so that a longer file is told by its length. Its
// error is a half sentence for people.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("can't be read: %w", reason(err))
	}
	defer f.Close()
	return readAll(f)
}

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("can't be read: %w", reason(err))
	}
	return data, nil
}

// reason is a file error without the operation and the path.
func reason(err error) error {
	if pathError := (*fs.PathError)(nil); errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
