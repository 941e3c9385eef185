// Package pin compares what tools say of themselves with what somebody has approved: the declarations
// that a policy pins, in the lockfile beside its file.
package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/glob"
)

// Rule is the rule that records name when a tool's declaration is not the one that is pinned.
const Rule = "pin_tools"

// A Lock has the declarations of tools that somebody has approved. They stand in a lockfile beside the
// policy.
type Lock struct {
	pinned   glob.List // tools whose declarations are pinned
	position string    // where the policy names them first: FILE:LINE:COLUMN
	file     string
	there    bool // the lockfile is
	tools    map[string]*approved
}

// approved is a tool's declaration as it was approved.
type approved struct {
	values      map[string]any // the declaration as JSON, without its name
	text        string         // values as JSON
	declaration *genai.FunctionDeclaration
}

// ownFunctions are those that agents add to their tools themselves. They are not pinned: no server
// writes their declarations, and no tool may have their names.
var ownFunctions = []string{"transfer_to_agent", "set_model_response"}

// A Tool is a tool that a policy pins, and how its declaration differs from the one in the lockfile.
type Tool struct {
	Name  string
	State string // same, new, changed or gone
	// Digest names the declaration as it is now: two that differ have different ones.
	Digest string
	// Pinned is the declaration that is pinned; nil if none is.
	Pinned *genai.FunctionDeclaration
	// Changes are lines of the two declarations: "- PATH: TEXT" is pinned, "+ PATH: TEXT" is there now.
	// Characters that cannot be seen are written as \u{1F}.
	Changes []string

	values map[string]any // as it is now; nil if it is gone
}

// pins reports whether the policy pins the declaration of a tool.
func (l *Lock) pins(name string) bool {
	return l.pinned.Match(name) && !slices.Contains(ownFunctions, name)
}

// Compare compares a tool's declaration with the one that is pinned. It returns nil if the policy does
// not pin it, and an error if the declaration cannot be written as JSON.
func (l *Lock) Compare(d *genai.FunctionDeclaration) (*Tool, error) {
	if !l.pins(d.Name) {
		return nil, nil
	}
	values, text, err := valuesOf(d)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(d.Name + "\x00" + text))
	t := &Tool{Name: d.Name, State: "same", Digest: hex.EncodeToString(sum[:]), values: values}
	pin := l.tools[d.Name]
	switch {
	case pin == nil:
		t.State = "new"
		t.Changes = differences(nil, values)
	case pin.text != text:
		t.State = "changed"
		t.Pinned = pin.declaration
		t.Changes = differences(pin.values, values)
	}
	return t, nil
}

// valuesOf returns a declaration as JSON, without its name.
func valuesOf(d *genai.FunctionDeclaration) (values map[string]any, text string, err error) {
	data, err := json.Marshal(d)
	if err == nil {
		values, err = jsonvalue.Object(data)
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

// Idle returns the globs of pin_tools that match none of these tools. Such a glob may be misspelt.
func (l *Lock) Idle(declarations []*genai.FunctionDeclaration) (idle []string) {
	for _, pattern := range l.pinned.Included() {
		matches := func(d *genai.FunctionDeclaration) bool { return glob.Match(pattern, d.Name) }
		if !slices.ContainsFunc(declarations, matches) {
			idle = append(idle, pattern)
		}
	}
	return idle
}

// CompareAll compares the declarations of tools with those in the lockfile. Tools that the policy does
// not pin are left out; gone is what the lockfile has beside these tools. It returns an error if a
// declaration cannot be written as JSON, or if two different ones have one name.
func (l *Lock) CompareAll(declarations []*genai.FunctionDeclaration) (list []*Tool, err error) {
	byName := map[string]*Tool{}
	for name := range l.tools {
		byName[name] = &Tool{Name: name, State: "gone"}
	}
	for _, d := range declarations {
		t, err := l.Compare(d)
		if err != nil {
			return nil, err
		}
		if t == nil {
			continue
		}
		if other := byName[d.Name]; other != nil && other.values != nil && other.Digest != t.Digest {
			return nil, fmt.Errorf("guardrail: two tools are named %s, and their declarations differ; give the tools of one of their servers a prefix", d.Name)
		}
		byName[d.Name] = t
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, byName[name])
	}
	return list, nil
}

// File is the name of the lockfile.
func (l *Lock) File() string { return l.file }

// There reports whether the lockfile is there.
func (l *Lock) There() bool { return l.there }

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

var plainKey = lazyregexp.New(`^[\w$-]+$`)

// Advice says what is wrong with the pins of the policy's tools, beginning with file, line and column
// where it stands in the policy.
func (l *Lock) Advice() (advice []string) {
	if !l.there {
		return []string{fmt.Sprintf("%s: there is no %s, so no model is offered a tool that pin_tools names; read the tools' declarations and write it with: runner policy pin", l.position, l.file)}
	}
	for _, name := range slices.Sorted(maps.Keys(l.tools)) {
		if !l.pins(name) {
			advice = append(advice, fmt.Sprintf("%s: %s has a pin of the tool %s, which pin_tools does not name; take it out with: runner policy pin", l.position, l.file, name))
		}
	}
	return advice
}
