package pin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/glob"
)

const version = 1 // of the lockfile's form

// Approve returns the content of the lockfile once these tools are approved as they are. What it has
// of other tools stays.
func (l *Lock) Approve(approved []*Tool) ([]byte, error) {
	tools := map[string]any{}
	for name, pin := range l.tools {
		tools[name] = inLines(pin.values)
	}
	for _, t := range approved {
		if t.values == nil {
			delete(tools, t.Name)
		} else {
			tools[t.Name] = inLines(t.values)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(map[string]any{"version": version, "tools": tools})
	if err != nil {
		return nil, err
	}
	// Write characters that cannot be seen as escapes, so that a reviewer of the file sees all of them.
	return []byte(visible(b.String(), func(r rune) string {
		if r > 0xffff {
			r -= 0x10000
			return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})), nil
}

// inLines returns a declaration with its description as a list of lines, so that a change of one line is
// the change of one line in the file.
func inLines(values map[string]any) map[string]any {
	values = maps.Clone(values)
	text, ok := values["description"].(string)
	if ok {
		values["description"] = strings.Split(text, "\n")
	}
	return values
}

// lockedTool is a tool in a lockfile, and where it begins there.
type lockedTool struct {
	data   []byte
	offset int64
}

// UnmarshalJSONFrom implements the interface of package json for values that read themselves.
func (t *lockedTool) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	t.offset = d.InputOffset()
	data, err := d.ReadValue()
	t.data = bytes.Clone(data)
	return err
}

// Read reads the lockfile of a policy that pins the tools of a list, which it names at a place. The data
// is nil if the file is not there. Errors have the file's name, the line and the column.
func Read(pinned glob.List, at, file string, data []byte) (*Lock, error) {
	l := &Lock{pinned: pinned, position: at, file: file, tools: map[string]*approved{}}
	if data == nil {
		return l, nil
	}
	l.there = true
	bad := func(at int64, err error) error {
		before := data[:min(at, int64(len(data)))]
		line := bytes.Count(before, []byte("\n")) + 1
		column := len(before) - bytes.LastIndexByte(before, '\n')
		return fmt.Errorf("%s:%d:%d: %w; to pin the tools anew, delete it and run: runner policy pin", file, line, column, err)
	}

	// Read its form.
	var form struct {
		Version int                    `json:"version"`
		Tools   map[string]*lockedTool `json:"tools"`
	}
	err := jsonv2.Unmarshal(data, &form, jsonv2.RejectUnknownMembers(true))
	var syntax *jsontext.SyntacticError
	var semantic *jsonv2.SemanticError
	switch {
	case errors.As(err, &syntax):
		return nil, bad(syntax.ByteOffset, fmt.Errorf("this is not a lockfile of tools: %w", syntax.Err))
	case errors.As(err, &semantic):
		return nil, bad(semantic.ByteOffset, fmt.Errorf("this is not a lockfile of tools: %w", err))
	case err != nil:
		return nil, bad(0, err)
	case form.Version != version:
		return nil, bad(0, fmt.Errorf("the lockfile has version %d; this program reads version %d", form.Version, version))
	}

	// Read the tools.
	for _, name := range slices.Sorted(maps.Keys(form.Tools)) {
		locked := form.Tools[name]
		if locked == nil {
			return nil, bad(0, fmt.Errorf("the tool %s has no declaration", name))
		}
		pin, err := readPin(name, locked.data)
		if err != nil {
			return nil, bad(locked.offset, fmt.Errorf("this is no declaration of the tool %s: %w", name, err))
		}
		l.tools[name] = pin
	}
	return l, nil
}

// readPin returns a tool of a lockfile.
func readPin(name string, data []byte) (*approved, error) {
	values, err := jsonvalue.Object(data)
	if err != nil {
		return nil, err
	}
	if list, ok := values["description"].([]any); ok {
		var lines []string
		for _, item := range list {
			line, ok := item.(string)
			if !ok {
				return nil, errors.New("its description must be a list of lines")
			}
			lines = append(lines, line)
		}
		values["description"] = strings.Join(lines, "\n")
	}
	data, err = json.Marshal(values)
	if err != nil {
		return nil, err
	}
	d := &genai.FunctionDeclaration{}
	err = json.Unmarshal(data, d)
	if err != nil {
		return nil, err
	}
	d.Name = name
	return &approved{values: values, text: string(data), declaration: d}, nil
}
