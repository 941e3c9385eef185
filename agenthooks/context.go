package agenthooks

import (
	"errors"
	"fmt"
	"regexp"
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
	items  *schema            // an array's
	values *schema            // an object's, whatever their names
	ok     func(string) bool  // whether a string is right
}

func word(ok func(string) bool) *schema { return &schema{kinds: `"`, ok: ok} }

func filled(s string) bool { return s != "" }

func oneOf(words ...string) *schema {
	return word(func(s string) bool { return slices.Contains(words, s) })
}

var (
	anyValue = &schema{}
	object   = &schema{kinds: "{"}
	text     = &schema{kinds: `"`}
	content  = &schema{kinds: `"{`}

	agentSchema = &schema{kinds: "{", fields: map[string]*schema{
		"id":        word(filled),
		"framework": word(regexp.MustCompile(`^[a-z0-9_-]+$`).MatchString),
	}}
	modelSchema = &schema{kinds: "{", fields: map[string]*schema{"id": text}}
	callSchema  = &schema{kinds: "{", fields: map[string]*schema{"id": word(filled), "name": word(filled), "args": object}}
	askedSchema = &schema{
		kinds:  "{",
		fields: map[string]*schema{"name": text, "args": object},
		maybe:  map[string]*schema{"id": text},
	}
)

// core has the members of every context.
var core = map[string]*schema{
	"spec":      word(regexp.MustCompile(`^agent-hooks/\d+\.\d+$`).MatchString),
	"timestamp": word(func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil }),
	"sequence":  {kinds: "0"},
	"agent":     agentSchema,
	"session":   {kinds: "{", fields: map[string]*schema{"id": word(filled)}},
}

// A shape says what the contexts of a point have beyond core. The target is a member, or a member of a member.
type shape struct {
	fields map[string]*schema
	target []string
	fixed  bool // no verdict may transform it
}

var shapes = map[Point]*shape{
	AgentStartup: {
		fields: map[string]*schema{"agent_init": {kinds: "{", fields: map[string]*schema{
			"tools_registered": {kinds: "[", items: text},
		}}},
		target: []string{"agent_init"},
		fixed:  true,
	},
	Input: {
		fields: map[string]*schema{"input": {kinds: "{", fields: map[string]*schema{
			"content": content,
			"role":    oneOf("user", "system", "external"),
		}}},
		target: []string{"input"},
	},
	PreModelCall: {
		fields: map[string]*schema{
			"model": modelSchema,
			"messages": {kinds: "[", items: &schema{
				kinds:  "{",
				fields: map[string]*schema{"role": text, "content": content},
			}},
		},
		target: []string{"messages"},
	},
	PostModelCall: {
		fields: map[string]*schema{
			"model": modelSchema,
			"response": {kinds: "{", fields: map[string]*schema{
				"content":       {kinds: `"{n`},
				"tool_calls":    {kinds: "[", items: askedSchema},
				"finish_reason": text,
			}},
		},
		target: []string{"response"},
	},
	PreToolCall: {
		fields: map[string]*schema{"tool_call": callSchema},
		target: []string{"tool_call", "args"},
	},
	PostToolCall: {
		fields: map[string]*schema{
			"tool_call": callSchema,
			"tool_result": {kinds: "{", fields: map[string]*schema{
				"value":    anyValue,
				"is_error": {kinds: "tf"},
			}},
		},
		target: []string{"tool_result", "value"},
	},
	Output: {
		fields: map[string]*schema{"output": {kinds: "{", fields: map[string]*schema{"content": content}}},
		target: []string{"output"},
	},
	AgentShutdown: {
		fields: map[string]*schema{"summary": {kinds: "{", fields: map[string]*schema{
			"reason": oneOf("completed", "error", "cancelled"),
		}}},
		target: []string{"summary"},
		fixed:  true,
	},
}

// check returns what is wrong with a value: never its content.
func (s *schema) check(v jsontext.Value, where string) error {
	if s.kinds != "" && !strings.ContainsRune(s.kinds, rune(v.Kind())) {
		return fmt.Errorf("%s is %s", where, kindName(v.Kind()))
	}
	if s.ok != nil {
		var word string
		if err := json.Unmarshal(v, &word); err != nil || !s.ok(word) {
			return fmt.Errorf("%s is not a value that it may have", where)
		}
	}
	if len(s.fields)+len(s.maybe) > 0 && v.Kind() == '{' {
		var members map[string]jsontext.Value
		if err := json.Unmarshal(v, &members); err != nil {
			return fmt.Errorf("%s is not JSON", where)
		}
		return checkMembers(members, where+".", s.fields, s.maybe)
	}
	if s.values != nil {
		var members map[string]jsontext.Value
		if err := json.Unmarshal(v, &members); err != nil {
			return fmt.Errorf("%s is not JSON", where)
		}
		for _, value := range members {
			if err := s.values.check(value, "a value of "+where); err != nil {
				return err
			}
		}
	}
	if s.items == nil || v.Kind() == 'n' {
		return nil
	}
	var items []jsontext.Value
	if err := json.Unmarshal(v, &items); err != nil {
		return fmt.Errorf("%s is not JSON", where)
	}
	for i, item := range items {
		if err := s.items.check(item, fmt.Sprintf("%s[%d]", where, i)); err != nil {
			return err
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

func kindName(k jsontext.Kind) string {
	names := map[jsontext.Kind]string{'{': "an object", '[': "an array", '"': "a string", '0': "a number", 'n': "null", 't': "a bool", 'f': "a bool"}
	if name := names[k]; name != "" {
		return name
	}
	return "not JSON"
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
	c := members{}
	for name, v := range m {
		c[name] = v
	}
	c["target"] = target
	at := shapes[m.point()].target
	if len(at) == 1 {
		c[at[0]] = target
		return c, nil
	}
	var outer map[string]jsontext.Value
	if err := json.Unmarshal(m[at[0]], &outer); err != nil {
		return nil, err
	}
	outer[at[1]] = target
	data, err := json.Marshal(outer, json.Deterministic(true))
	c[at[0]] = data
	return c, err
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
