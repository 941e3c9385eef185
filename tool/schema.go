package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// names is what the models take as a function's name.
var names = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)

// Check returns an error that names the tool if models would refuse its declaration: if the name is
// not valid, or the parameters are not the schema of an object. Otherwise it returns a function
// that checks a call's arguments. What that function returns is for the model: it says where the first
// bad value is, as a JSON pointer, and what would fit.
//
// If the declaration has no parameters, any arguments are accepted: models sometimes invent
// arguments for a function that takes none, and they do no harm.
//
// Schemas and arguments are bounded; see Schema.
func (t *Tool) Check() (func(ctx context.Context, args map[string]any) error, error) {
	d := t.Declaration
	switch {
	case d == nil:
		return nil, errors.New("tool: a tool has no Declaration; give it one with a name")
	case !names.MatchString(d.Name):
		return nil, fmt.Errorf("tool %q: a name is a letter or underscore, then letters, digits, '_', '.' and '-', at most 64 in all", d.Name)
	case d.ParametersJsonSchema != nil && d.Parameters != nil:
		return nil, fmt.Errorf("tool %s: it has both Parameters and ParametersJsonSchema; give it one", d.Name)
	case d.ParametersJsonSchema == nil && d.Parameters == nil:
		return func(context.Context, map[string]any) error { return nil }, nil
	}
	parameters := d.ParametersJsonSchema
	if parameters == nil {
		parameters = d.Parameters
	}
	doc, err := parse(parameters)
	if err == nil && keywords(doc.root)["type"] != "object" {
		err = errors.New(`the schema's type is not "object": a model passes arguments by name`)
	}
	if err != nil {
		return nil, fmt.Errorf("tool %s: parameters: %w", d.Name, err)
	}
	return func(ctx context.Context, args map[string]any) error {
		if args == nil {
			args = map[string]any{}
		}
		err := doc.check(ctx, args)
		if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Cause(ctx))) {
			return fmt.Errorf("the arguments do not fit: %w", err)
		}
		return err
	}, nil
}

func keywords(schema any) map[string]any {
	k, _ := schema.(map[string]any)
	return k
}

// Schema compiles a JSON schema: a *jsonschema.Schema, a *genai.Schema, a json.RawMessage, or anything else that marshals
// to one. It returns a function that compares a JSON value with it. What that function returns says where the value is bad,
// as a JSON pointer with * for any item of a list, and why; or it is why the context has ended.
//
// A reference must name a place in the same schema ("#/$defs/name"); a reference to another document, or in a circle, is an
// error. A pattern that is not a regular expression of Go is ignored, and a schema of an unknown draft is read as 2020-12.
//
// A schema may come from a stranger, such as the server that has the tool. So one is an error if it is larger than 1 MiB, has
// more than 5,000 schemas in it or more than 100 around one another, or very large regular expressions. A value is an error
// that would take more than 1,000,000 steps, which is about a second. So a hostile schema does not hold up its caller, who does
// not wait for a check longer than its context lasts.
func Schema(schema any) (func(ctx context.Context, value any) error, error) {
	doc, err := parse(schema)
	if err != nil {
		return nil, err
	}
	return doc.check, nil
}

// check compares a JSON value with the whole schema.
func (d *document) check(ctx context.Context, v any) error {
	plain, err := plainValue(v)
	if err != nil {
		return err
	}
	m := &meter{document: d, ctx: ctx}
	if err := m.evaluate(d.root, plain, 0); err != nil {
		return err
	}
	compare := func() error {
		if err := d.compiled.Validate(plain); err != nil {
			return errors.New(d.explainFirst(plain, err, maxSteps/(m.steps+1)))
		}
		return nil
	}
	const brief = 10_000 // steps that the caller waits for, whatever its context
	if m.steps <= brief {
		return compare()
	}
	// The library cannot be stopped, so its caller does not wait for it. It ends by itself, after about a second at most.
	done := make(chan error, 1)
	go func() { done <- compare() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// plainValue returns a JSON value as the library takes it: a json.Number, which it takes for a text, becomes a Go number,
// and what was made in Go becomes what encoding/json makes of it.
func plainValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, float64, int64, string:
		return v, nil
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %s is beyond what can be checked, about 1.8e308", short(v.String()))
		}
		return f, nil
	case map[string]any:
		made := make(map[string]any, len(v))
		for name, in := range v {
			var err error
			if made[name], err = plainValue(in); err != nil {
				return nil, err
			}
		}
		return made, nil
	case []any:
		made := make([]any, len(v))
		for i, in := range v {
			var err error
			if made[i], err = plainValue(in); err != nil {
				return nil, err
			}
		}
		return made, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	var made any
	if err := json.Unmarshal(data, &made); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	return made, nil
}

// explainFirst says what is wrong at the smallest path of a value. The library tells any one of several places that are bad.
// So each is taken out of the value, and the rest is compared again, so many times at most.
func (d *document) explainFirst(value any, err error, rounds int) (first string) {
	lacks := map[string]bool{} // what something was taken out of, by path
	for ; err != nil && rounds > 0; rounds-- {
		words := d.explain(err.Error())
		bad, why, _ := strings.Cut(words, ": ")
		missing := strings.HasSuffix(why, "is missing")
		late := missing || strings.HasPrefix(why, "is not known") // told of what is left of an object, so not behind others
		if first == "" || words < first && !(late && lacks[path.Dir(bad)]) {
			first = words
		}
		if missing {
			bad = path.Dir(bad)
		}
		bad = strings.TrimRight(bad, "/*")
		if !takeOut(value, strings.Split(bad, "/")[1:]) {
			break
		}
		lacks[path.Dir(bad)] = true
		err = d.compiled.Validate(value)
	}
	return first
}

// takeOut deletes what stands at a path, with * for all items, and reports whether there was something.
func takeOut(value any, at []string) (found bool) {
	if len(at) == 0 {
		return false
	}
	below, _ := value.([]any)
	if in, ok := value.(map[string]any); ok {
		name := unescape.Replace(at[0])
		below = []any{in[name]}
		if len(at) == 1 {
			_, found = in[name]
			delete(in, name)
		} else if name == "*" {
			below = slices.Collect(maps.Values(in))
		}
	}
	for _, v := range below {
		found = takeOut(v, at[1:]) || found
	}
	return found
}

// explain says what is wrong with a value, of which the library knows the places in the schema: "validating root: validating
// /properties/n: type: …". Where alternatives have failed, it says so, or what is wrong by the one that came furthest.
func (d *document) explain(verdict string) string {
	lines := strings.Split(verdict, "\n")
	if len(lines) > 1 { // the first line says that no alternative fits
		furthest := slices.MaxFunc(lines[1:], func(a, b string) int { return cmp.Compare(chain(a), chain(b)) })
		if before, _, _ := strings.Cut(lines[0], ": anyOf"); chain(furthest) > 1 {
			lines[0] = before + ": " + furthest
		} else {
			lines[0] = before + ": fits none of the alternatives"
		}
	}
	pointer := ""
	rest := lines[0]
	last := "" // place in the schema
	for {
		after, more := strings.CutPrefix(rest, "validating ")
		if !more {
			break
		}
		var place string
		place, rest, _ = strings.Cut(after, ": ")
		within, deeper := strings.CutPrefix(place, last)
		if last = place; !deeper || place == "root" {
			last = strings.TrimPrefix(place, "root")
			if _, name, ok := strings.Cut(place, "/properties/"); !ok || strings.Contains(name, "/") {
				continue
			}
			within = place
		}
		if name, ok := strings.CutPrefix(within, "/properties/"); ok {
			pointer += "/" + name
		} else if anyMember.MatchString(within) {
			pointer += "/*"
		}
	}
	if names, ok := quoted(rest, "required: missing properties: "); ok {
		return each(names, pointer, "is missing")
	}
	if names, ok := quoted(rest, "unexpected additional properties "); ok {
		why := "is not known; nothing is to be here"
		in, _ := d.find("#" + last) // of which the library speaks
		if known := keywords(keywords(in)["properties"]); len(known) > 0 {
			why = "is not known; known are " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
		}
		return each(names, pointer, why)
	}
	for _, p := range plainer {
		rest = p.library.ReplaceAllString(rest, p.words)
	}
	if pointer == "" {
		pointer = "the whole"
	}
	return short(pointer) + ": " + short(rest)
}

// quoted returns the names behind a prefix, which the library has written as a list of Go strings.
func quoted(text, prefix string) (names []string, ok bool) {
	text, ok = strings.CutPrefix(text, prefix)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	for ok && text != "" {
		prefix, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil, false
		}
		name, _ := strconv.Unquote(prefix)
		names = append(names, name)
		text = strings.TrimPrefix(text[len(prefix):], " ")
	}
	return names, ok
}

// each says the same of the values with these names, of the first eight.
func each(names []string, pointer, why string) string {
	slices.Sort(names)
	var all []string
	for i, name := range names {
		if i == 8 {
			all = append(all, "and more")
			break
		}
		all = append(all, short(pointer+"/"+escape(name))+": "+why)
	}
	return strings.Join(all, "; ")
}

// anyMember matches the step from a schema to the one of any item, or of any property.
var anyMember = lazyregexp.New(`^/(items|additionalItems|prefixItems|additionalProperties|patternProperties)\b`)

// chain counts the places in the schema that stand before an error.
func chain(text string) int { return strings.Count(text, "validating ") }

// plainer has what the library says, and plainer words for it.
var plainer = []struct {
	library lazyregexp.Regexp
	words   string
}{
	{library: lazyregexp.New(`^type: .* has type "(\w+)", want (?:one of )?"(.*)"$`), words: "is of type $1, must be $2"},
	{library: lazyregexp.New(`^enum: .* does not equal any of: \[(.*)\]$`), words: "must be one of $1"},
	{library: lazyregexp.New(`^oneOf: .*$`), words: "fits none of the alternatives, or more than one"},
	{library: lazyregexp.New(`([0-9])(?:/1( is )|\.0+$)`), words: "$1$2"}, // behind whole numbers
}
