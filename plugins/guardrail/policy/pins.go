package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"
)

// PinRule is the rule that records name when a tool's declaration is not the one that is pinned.
const PinRule = "pin_tools"

// pins are the declarations of tools that somebody has approved. They stand in a lockfile beside the
// policy.
type pins struct {
	file  string
	there bool // the lockfile is
	tools map[string]*pinnedTool
}

// pinnedTool is a tool's declaration as it was approved.
type pinnedTool struct {
	values      map[string]any // the declaration as JSON, without its name
	text        string         // values as JSON
	declaration *genai.FunctionDeclaration
}

const (
	pinVersion  = 1
	maxPinsFile = 16 << 20 // bytes of a lockfile
)

// ownFunctions are those that agents add to their tools themselves. They are not pinned: no server
// writes their declarations, and no tool may have their names.
var ownFunctions = []string{"transfer_to_agent", "set_model_response"}

// An Unpinned says how the declaration of a tool differs from the one that is pinned.
type Unpinned struct {
	Tool string
	// Pinned is the declaration that is pinned; nil if none is.
	Pinned *genai.FunctionDeclaration
	// Changes are lines of the two declarations: "- PATH: TEXT" is pinned, "+ PATH: TEXT" is there now.
	// Characters that nobody would see are written as \u{1F}.
	Changes []string
	// Shadow says that the policy is in shadow: nothing is done about it.
	Shadow bool
}

// PinsTools reports whether the policy pins declarations of tools.
func (p *Policy) PinsTools() bool { return !p.pinned.Empty() }

// pinsTool reports whether the policy pins the declaration of a tool.
func (p *Policy) pinsTool(name string) bool {
	return p.PinsTools() && p.pinned.Match(name) && !slices.Contains(ownFunctions, name)
}

// Unpinned returns how a tool's declaration differs from the one that is pinned; nil if it does not, or
// if the policy does not pin it. It returns an error if the declaration cannot be written as JSON.
func (p *Policy) Unpinned(d *genai.FunctionDeclaration) (*Unpinned, error) {
	if !p.pinsTool(d.Name) {
		return nil, nil
	}
	values, text, err := valuesOf(d)
	if err != nil {
		return nil, err
	}
	u := &Unpinned{Tool: d.Name, Shadow: p.shadow}
	pin := p.pins.tools[d.Name]
	if pin == nil {
		u.Changes = differences(nil, values)
		return u, nil
	}
	if pin.text == text {
		return nil, nil
	}
	u.Pinned = pin.declaration
	u.Changes = differences(pin.values, values)
	return u, nil
}

// valuesOf returns a declaration as JSON, without its name.
func valuesOf(d *genai.FunctionDeclaration) (values map[string]any, text string, err error) {
	data, err := json.Marshal(d)
	if err == nil {
		values, err = decoded(data)
	}
	if err == nil {
		delete(values, "name")
		data, err = json.Marshal(values) // its keys are in order now
	}
	if err != nil {
		return nil, "", fmt.Errorf("guardrail: the declaration of the tool %s cannot be read: %w", d.Name, err)
	}
	return values, string(data), nil
}

// decoded returns an object of JSON with its numbers as they are written.
func decoded(data []byte) (object map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&object)
	return object, err
}

// A PinnedTool is a tool that a policy pins, and how its declaration differs from the one in the lockfile.
type PinnedTool struct {
	Name    string
	State   string   // same, new, changed or gone
	Changes []string // see Unpinned

	values map[string]any // as it is now; nil if it is gone
}

// ComparePins compares the declarations of tools with those in the policy's lockfile. Tools that the
// policy does not pin are left out; gone is what the lockfile has beside these tools. It returns an error
// if a declaration cannot be written as JSON, or if two different ones have one name.
func (p *Policy) ComparePins(declarations []*genai.FunctionDeclaration) ([]PinnedTool, error) {
	byName := map[string]PinnedTool{}
	for _, d := range declarations {
		if !p.pinsTool(d.Name) {
			continue
		}
		values, text, err := valuesOf(d)
		if err != nil {
			return nil, err
		}
		if other, ok := byName[d.Name]; ok {
			if len(differences(other.values, values)) > 0 {
				return nil, fmt.Errorf("guardrail: two tools are named %s, and their declarations differ; give the tools of one of their servers a prefix", d.Name)
			}
			continue
		}
		t := PinnedTool{Name: d.Name, State: "same", values: values}
		pin := p.pins.tools[d.Name]
		switch {
		case pin == nil:
			t.State = "new"
			t.Changes = differences(nil, values)
		case pin.text != text:
			t.State = "changed"
			t.Changes = differences(pin.values, values)
		}
		byName[d.Name] = t
	}
	if p.pins != nil {
		for name := range p.pins.tools {
			if _, ok := byName[name]; !ok {
				byName[name] = PinnedTool{Name: name, State: "gone"}
			}
		}
	}
	var list []PinnedTool
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, byName[name])
	}
	return list, nil
}

// PinsFile returns the name of the lockfile in which the policy's pins are, "" if it pins nothing, and
// whether the file is there.
func (p *Policy) PinsFile() (name string, there bool) {
	if p.pins == nil {
		return "", false
	}
	return p.pins.file, p.pins.there
}

// Pin returns the content of the policy's lockfile once these tools are approved as they are. What it has
// of other tools stays.
func (p *Policy) Pin(approved []PinnedTool) ([]byte, error) {
	tools := map[string]any{}
	for name, pin := range p.pins.tools {
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
	err := e.Encode(map[string]any{"version": pinVersion, "tools": tools})
	if err != nil {
		return nil, err
	}
	// Nobody who reads the file overlooks a character.
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

// visible returns a text with what nobody would see written by escape. Line feeds stay.
func visible(text string, escape func(rune) string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) || r == '\n' {
			b.WriteRune(r)
		} else {
			b.WriteString(escape(r))
		}
	}
	return b.String()
}

// pinsName is the name of the lockfile of a policy's file.
func pinsName(policy string) string {
	return strings.TrimSuffix(policy, filepath.Ext(policy)) + ".lock.json"
}

// lockedTool is a tool in a lockfile, and where it begins there.
type lockedTool struct {
	data []byte
	at   int64
}

// UnmarshalJSONFrom implements the interface of package json for values that read themselves.
func (t *lockedTool) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	t.at = d.InputOffset()
	data, err := d.ReadValue()
	t.data = bytes.Clone(data)
	return err
}

// readPins reads the lockfile of a policy's file. It need not be there. Errors have its name, the line and
// the column.
func readPins(file string) (p *pins, data []byte, err error) {
	p = &pins{file: file, tools: map[string]*pinnedTool{}}
	data, err = content(file, "a lockfile", maxPinsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	p.there = true
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
	err = jsonv2.Unmarshal(data, &form, jsonv2.RejectUnknownMembers(true))
	var syntax *jsontext.SyntacticError
	var semantic *jsonv2.SemanticError
	switch {
	case errors.As(err, &syntax):
		return nil, nil, bad(syntax.ByteOffset, fmt.Errorf("this is not a lockfile of tools: %w", syntax.Err))
	case errors.As(err, &semantic):
		return nil, nil, bad(semantic.ByteOffset, fmt.Errorf("this is not a lockfile of tools: %w", err))
	case err != nil:
		return nil, nil, bad(0, err)
	case form.Version != pinVersion:
		return nil, nil, bad(0, fmt.Errorf("the lockfile has version %d; this program reads version %d", form.Version, pinVersion))
	}

	// Read the tools.
	for _, name := range slices.Sorted(maps.Keys(form.Tools)) {
		locked := form.Tools[name]
		if locked == nil {
			return nil, nil, bad(0, fmt.Errorf("the tool %s has no declaration", name))
		}
		pin, err := readPin(name, locked.data)
		if err != nil {
			return nil, nil, bad(locked.at, fmt.Errorf("this is no declaration of the tool %s: %w", name, err))
		}
		p.tools[name] = pin
	}
	return p, data, nil
}

// readPin returns a tool of a lockfile.
func readPin(name string, data []byte) (*pinnedTool, error) {
	values, err := decoded(data)
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
	return &pinnedTool{values: values, text: string(data), declaration: d}, nil
}

// differences returns the lines in which two declarations differ.
func differences(was, is map[string]any) (changes []string) {
	old := map[string]string{}
	now := map[string]string{}
	eachText(old, "", was)
	eachText(now, "", is)
	paths := maps.Clone(old)
	maps.Copy(paths, now)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		before, had := old[path]
		after, has := now[path]
		if had && has && before == after {
			continue
		}
		var gone, came []string
		if had {
			gone = strings.Split(before, "\n")
		}
		if has {
			came = strings.Split(after, "\n")
		}
		for len(gone) > 0 && len(came) > 0 && gone[0] == came[0] {
			gone = gone[1:]
			came = came[1:]
		}
		for len(gone) > 0 && len(came) > 0 && gone[len(gone)-1] == came[len(came)-1] {
			gone = gone[:len(gone)-1]
			came = came[:len(came)-1]
		}
		for _, line := range gone {
			changes = append(changes, seen("- "+path+": "+line))
		}
		for _, line := range came {
			changes = append(changes, seen("+ "+path+": "+line))
		}
	}
	return changes
}

// seen returns a text of which nobody overlooks a character.
func seen(text string) string {
	return visible(text, func(r rune) string { return fmt.Sprintf(`\u{%X}`, r) })
}

// eachText puts the texts of a JSON value into a map, by their paths. Different values have different
// texts: what reads like a path or a value in JSON is quoted.
func eachText(texts map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if !plainKey.MatchString(key) {
				key = strconv.Quote(key)
			}
			eachText(texts, strings.TrimPrefix(path+"."+key, "."), item)
		}
		if len(v) == 0 && path != "" {
			texts[path] = "{}"
		}
	case []any:
		for i, item := range v {
			eachText(texts, fmt.Sprintf("%s[%d]", path, i), item)
		}
		if len(v) == 0 {
			texts[path] = "[]"
		}
	case string:
		texts[path] = v
		if json.Valid([]byte(v)) {
			texts[path] = strconv.Quote(v)
		}
	case nil:
		texts[path] = "null"
	default:
		texts[path] = fmt.Sprint(v)
	}
}

var plainKey = regexp.MustCompile(`^[\w$-]+$`)

// PinAdvice says what is wrong with the pins of the policy's tools, beginning with file, line and column
// where it stands in the policy.
func (p *Policy) PinAdvice() (advice []string) {
	if !p.PinsTools() {
		return nil
	}
	if !p.pins.there {
		return []string{fmt.Sprintf("%s: there is no %s, so no model is offered a tool that pin_tools names; read the tools' declarations and write it with: runner policy pin", p.pinnedAt, p.pins.file)}
	}
	for _, name := range slices.Sorted(maps.Keys(p.pins.tools)) {
		if !p.pinsTool(name) {
			advice = append(advice, fmt.Sprintf("%s: %s has a pin of the tool %s, which pin_tools does not name; take it out with: runner policy pin", p.pinnedAt, p.pins.file, name))
		}
	}
	return advice
}
