package agenthooks

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Spec is the version of the contract, in each Context.
const Spec = "agent-hooks/0.1"

// A Point is where in an agent's loop a host asks.
type Point string

// Points, in the order of the loop.
const (
	AgentStartup  Point = "agent_startup"
	Input         Point = "input"
	PreModelCall  Point = "pre_model_call"
	PostModelCall Point = "post_model_call"
	PreToolCall   Point = "pre_tool_call"
	PostToolCall  Point = "post_tool_call"
	Output        Point = "output"
	AgentShutdown Point = "agent_shutdown"
)

// A Context is the JSON object that interceptors are shown.
type Context []byte

// Fields are the members of a context that its point has, by their names, as JSON: "tool_call", say. Extensions are
// under "extensions".
type Fields map[string]jsontext.Value

// A schema says what a JSON value must be.
type schema struct {
	kinds  string             // the kinds of value that are right (jsontext.Kind), "" for all
	fields map[string]*schema // an object's members that must be there
	maybe  map[string]*schema // those that may be
	items  *schema            // an array's, or all members of an object
	ok     func(string) bool  // whether a string is right
}

type must = map[string]*schema

func of(fields must) *schema { return &schema{kinds: "{", fields: fields} }

func list(items *schema) *schema { return &schema{kinds: "[", items: items} }

func word(ok func(string) bool) *schema { return &schema{kinds: `"`, ok: ok} }

func oneOf(words ...string) *schema {
	return word(func(s string) bool { return slices.Contains(words, s) })
}

func slug(s string) bool {
	other := func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' || r == '-') }
	return s != "" && !strings.ContainsFunc(s, other)
}

func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

func isSpec(s string) bool {
	version, ok := strings.CutPrefix(s, "agent-hooks/")
	major, minor, dot := strings.Cut(version, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return ok && dot && digits(major) && digits(minor)
}

var (
	anyValue = &schema{}
	object   = &schema{kinds: "{"}
	text     = &schema{kinds: `"`}
	filled   = word(func(s string) bool { return s != "" })
	content  = &schema{kinds: `"{`}
	aModel   = of(must{"id": text})
	aCall    = of(must{"id": filled, "name": filled, "args": object})
	anAsked  = &schema{kinds: "{", fields: must{"name": text, "args": object}, maybe: must{"id": text}}
	anAnswer = of(must{"content": {kinds: `"{n`}, "tool_calls": list(anAsked), "finish_reason": text})
)

// core has the members of every context.
var core = must{
	"spec":      word(isSpec),
	"timestamp": word(isTime),
	"sequence":  {kinds: "0"},
	"agent":     of(must{"id": filled, "framework": word(slug)}),
	"session":   of(must{"id": filled}),
}

// A shape says what the contexts of a point have beyond core. The target is a member, or a member of a member.
type shape struct {
	fields must
	target []string
	fixed  bool // no verdict may transform it
}

var shapes = map[Point]*shape{
	AgentStartup: {
		fields: must{"agent_init": of(must{"tools_registered": list(text)})},
		target: []string{"agent_init"},
		fixed:  true,
	},
	Input: {
		fields: must{"input": of(must{"content": content, "role": oneOf("user", "system", "external")})},
		target: []string{"input"},
	},
	PreModelCall: {
		fields: must{"model": aModel, "messages": list(of(must{"role": text, "content": content}))},
		target: []string{"messages"},
	},
	PostModelCall: {
		fields: must{"model": aModel, "response": anAnswer},
		target: []string{"response"},
	},
	PreToolCall: {
		fields: must{"tool_call": aCall},
		target: []string{"tool_call", "args"},
	},
	PostToolCall: {
		fields: must{"tool_call": aCall, "tool_result": of(must{"value": anyValue, "is_error": {kinds: "tf"}})},
		target: []string{"tool_result", "value"},
	},
	Output: {
		fields: must{"output": of(must{"content": content})},
		target: []string{"output"},
	},
	AgentShutdown: {
		fields: must{"summary": of(must{"reason": oneOf("completed", "error", "cancelled")})},
		target: []string{"summary"},
		fixed:  true,
	},
}

// check returns what is wrong with a value: never its content.
func (s *schema) check(v jsontext.Value, where string) error {
	if s == nil {
		return nil
	}
	if s.kinds != "" && !strings.ContainsRune(s.kinds, rune(v.Kind())) {
		return fmt.Errorf("%s is of the wrong kind: %v", where, v.Kind())
	}
	if s.ok != nil {
		var word string
		if err := json.Unmarshal(v, &word); err != nil || !s.ok(word) {
			return fmt.Errorf("%s is not a value that it may have", where)
		}
	}
	switch {
	case len(s.fields)+len(s.maybe) > 0 && v.Kind() == '{', s.items != nil && v.Kind() == '{':
		var members map[string]jsontext.Value
		if err := json.Unmarshal(v, &members); err != nil {
			return fmt.Errorf("%s is not JSON", where)
		}
		for _, member := range members {
			if err := s.items.check(member, "a member of "+where); err != nil {
				return err
			}
		}
		return checkMembers(members, where+".", s.fields, s.maybe)
	case s.items != nil && v.Kind() == '[':
		var items []jsontext.Value
		if err := json.Unmarshal(v, &items); err != nil {
			return fmt.Errorf("%s is not JSON", where)
		}
		for i, item := range items {
			if err := s.items.check(item, fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkMembers(members map[string]jsontext.Value, where string, must, may map[string]*schema) error {
	for name, s := range must {
		v, has := members[name]
		if !has {
			return fmt.Errorf("%s%s is not there", where, name)
		}
		if err := s.check(v, where+name); err != nil {
			return err
		}
	}
	for name, s := range may {
		if v, has := members[name]; has {
			if err := s.check(v, where+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// members are those of a context, its target among them.
type members map[string]jsontext.Value

// parse reads a context.
func parse(c Context) (members, error) {
	var m members
	if err := json.Unmarshal(c, &m); err != nil {
		return nil, errors.New("the context is not a JSON object, or has a name twice, or has text that is not Unicode")
	}
	return m, nil
}

// bytes returns the context.
func (m members) bytes() (Context, error) {
	data, err := json.Marshal(map[string]jsontext.Value(m), json.Deterministic(true))
	if err != nil {
		return nil, errors.New("the context is not JSON, or has text that is not Unicode")
	}
	return data, nil
}

func (m members) point() Point {
	var p string
	_ = json.Unmarshal(m["interception_point"], &p)
	return Point(p)
}

// check returns an error if the context is not what the specification says (section 4).
func (m members) check() error {
	s := shapes[m.point()]
	if s == nil {
		return errors.New("interception_point is none of the eight")
	}
	if err := checkMembers(m, "", core, nil); err != nil {
		return err
	}
	if n := string(m["sequence"]); strings.ContainsAny(n, "-.eE") {
		return errors.New("sequence is not a whole number from 0")
	}
	if err := checkMembers(m, "", s.fields, nil); err != nil {
		return err
	}
	if _, has := m["target"]; !has {
		return errors.New("target is not there")
	}
	return nil
}

// withTarget returns the context with another target, which also stands where the target comes from.
func (m members) withTarget(target jsontext.Value) (members, error) {
	c := maps.Clone(m)
	c["target"] = target
	at := shapes[m.point()].target
	var steps []step
	for _, name := range at[1:] {
		steps = append(steps, step{name: name, index: -1})
	}
	var ok bool
	if c[at[0]], ok = replaceAt(m[at[0]], steps, target); !ok {
		return nil, errors.New("the target cannot be put where it comes from")
	}
	return c, nil
}

// targetOf returns the value that is the target of fields, nil if it is not there.
func targetOf(p Point, fields map[string]jsontext.Value) jsontext.Value {
	at := shapes[p].target
	v := fields[at[0]]
	if len(at) == 1 || v.Kind() != '{' {
		return v
	}
	var outer map[string]jsontext.Value
	_ = json.Unmarshal(v, &outer)
	return outer[at[1]]
}

// maxLevels is how deep a context may be.
const maxLevels = 128

// checkDepth returns an error if a context has too many levels.
func checkDepth(c Context) error {
	depth, inText := 0, false
	for i := 0; i < len(c); i++ {
		switch {
		case inText && c[i] == '\\':
			i++
		case c[i] == '"':
			inText = !inText
		case inText:
		case c[i] == '{', c[i] == '[':
			if depth++; depth > maxLevels {
				return fmt.Errorf("the context has more than %d levels", maxLevels)
			}
		case c[i] == '}', c[i] == ']':
			depth--
		}
	}
	return nil
}
