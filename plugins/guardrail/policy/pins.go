package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/policy/internal/glob"
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

// ownFunctions are those that agents add to their tools themselves. They are not pinned: no server
// writes their declarations, and no tool may have their names.
var ownFunctions = []string{"transfer_to_agent", "set_model_response"}

// An Unpinned says how the declaration of a tool differs from the one that is pinned.
type Unpinned struct {
	Tool string
	// Digest names the declaration as it is now: two that differ have different ones.
	Digest string
	// Pinned is the declaration that is pinned; nil if none is.
	Pinned *genai.FunctionDeclaration
	// Changes are lines of the two declarations: "- PATH: TEXT" is pinned, "+ PATH: TEXT" is there now.
	// Characters that cannot be seen are written as \u{1F}.
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
	sum := sha256.Sum256([]byte(d.Name + "\x00" + text))
	u := &Unpinned{Tool: d.Name, Digest: hex.EncodeToString(sum[:]), Shadow: p.shadow}
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

// decoded returns an object of JSON with its numbers as they are written. What stands under a key twice is an
// error: a model may read the one that nobody has compared.
func decoded(data []byte) (object map[string]any, err error) {
	if !jsontext.Value(data).IsValid() {
		return nil, errors.New("it is no JSON in UTF-8, or has a key twice")
	}
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

// PinsNothing returns the globs of pin_tools that match none of these tools. Such a glob may be misspelt.
func (p *Policy) PinsNothing(declarations []*genai.FunctionDeclaration) (idle []string) {
	for _, pattern := range p.pinned.Included() {
		matches := func(d *genai.FunctionDeclaration) bool { return glob.Match(pattern, d.Name) }
		if !slices.ContainsFunc(declarations, matches) {
			idle = append(idle, pattern)
		}
	}
	return idle
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

// visible returns a text in which escape writes the characters that cannot be seen. Line feeds stay as they are.
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

// seen returns a text in which characters that cannot be seen are written as \u{1F}.
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
