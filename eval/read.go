package eval

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/yamlfile"
)

// Read reads the cases of a file. Its name says which form it has: .json is an eval set of the Agent Development Kit, in
// its newer and its older forms; .csv is a table with a case a row; anything else is YAML with a list of cases. The
// criteria of an eval set are the kit's own until somebody sets others. Errors begin with the file's name, and with line
// and column where that is known.
func Read(name string, data []byte) ([]*Case, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var cases []*Case
	var err error
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		read := readKit
		if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
			read = readOlder
		}
		if cases, err = read(data); err != nil {
			return nil, fmt.Errorf("%s: %w", name, jsonPosition(data, err))
		}
		for _, c := range cases {
			c.Criteria = defaultCriteria()
		}
	case ".csv":
		if cases, err = readTable(name, data); err != nil {
			return nil, err
		}
	default:
		if cases, err = readYAML(name, data); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for _, c := range cases {
		c.File = name
		if seen[c.ID] {
			return nil, fmt.Errorf("%s: two cases have the id %q", name, c.ID)
		}
		seen[c.ID] = true
	}
	return cases, nil
}

// jsonPosition says where in the text a JSON error is.
func jsonPosition(data []byte, err error) error {
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	wrong, isWrong := errors.AsType[*json.UnmarshalTypeError](err)
	offset := int64(0)
	switch {
	case isSyntax:
		offset = syntax.Offset
	case isWrong:
		offset = wrong.Offset
		err = fmt.Errorf("%s: a JSON %s does not fit there", cmp.Or(wrong.Field, "the whole"), wrong.Value)
	default:
		return err
	}
	before := data[:min(int(offset), len(data))]
	return fmt.Errorf("line %d: %w", 1+bytes.Count(before, []byte("\n")), err)
}

// caseFile is a file of cases in YAML.
type caseFile struct {
	Criteria map[string]any `yaml:"criteria"`
	Cases    []*Case        `yaml:"cases"`
}

func readYAML(name string, data []byte) ([]*Case, error) {
	var c caseFile
	f, err := yamlfile.Read(name, data, &c)
	if err != nil {
		return nil, err
	}
	if len(c.Cases) == 0 {
		return nil, fmt.Errorf("%s: there are no cases; write cases: [{id: NAME, turns: [{user: TEXT, expect: {…}}]}]", name)
	}
	var criteria Criteria
	if c.Criteria != nil {
		text, err := json.Marshal(c.Criteria)
		if err != nil {
			return nil, f.Errorf("criteria", "%w", err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			return nil, f.Errorf("criteria", "%w", err)
		}
		if criteria, err = criteriaOf(members); err != nil {
			return nil, f.Errorf("criteria", "%w", err)
		}
	}
	for i, one := range c.Cases {
		at := fmt.Sprintf("cases[%d]", i)
		if one == nil || one.ID == "" || len(one.Turns) == 0 {
			return nil, f.Errorf(at, "a case has an id and turns")
		}
		if one.Timeout < 0 {
			return nil, f.Errorf(at+".timeout", "it is a time, such as 30s")
		}
		one.Criteria = criteria
		for n, t := range one.Turns {
			at := fmt.Sprintf("%s.turns[%d]", at, n)
			if t == nil || t.User == "" && len(t.Approve)+len(t.Decline)+len(t.Respond) == 0 {
				return nil, f.Errorf(at, "a turn has user, approve, decline or respond")
			}
			if path, err := t.Expect.check(); err != nil {
				return nil, f.Errorf(at+".expect"+path, "%w", err)
			}
		}
	}
	return c.Cases, nil
}

// check returns what is wrong with an expectation, and where.
func (x *Expect) check() (path string, err error) {
	choice := func(value string, choices ...string) error {
		if value != "" && !slices.Contains(choices, value) {
			return fmt.Errorf("%q is none of %s", value, strings.Join(choices, ", "))
		}
		return nil
	}
	if err := choice(x.Order, orderExact, orderIn, orderAny); err != nil {
		return ".order", err
	}
	if x.Latency < 0 {
		return ".latency", errors.New("it is a time, such as 2s")
	}
	if x.NoCalls && len(x.Calls) > 0 {
		return ".no_calls", errors.New("no_calls and calls exclude one another")
	}
	for key, isEmpty := range map[string]bool{
		".plugins": x.Plugins != nil && len(x.Plugins) == 0,
		".nodes":   x.Nodes != nil && len(x.Nodes) == 0,
		".waits":   x.Waits != nil && len(x.Waits) == 0,
	} {
		if isEmpty {
			return key, errors.New("the list is empty, so it expects nothing; leave it out")
		}
	}
	for i, c := range x.Calls {
		at := fmt.Sprintf(".calls[%d]", i)
		if c.Name == "" {
			return at, errors.New("a call has a name")
		}
		if err := choice(c.Match, matchExact, matchSubset, matchPattern); err != nil {
			return at + ".match", err
		}
		for _, key := range sortedKeys(c.Args) {
			text, ok := c.Args[key].(string)
			if c.Match != matchPattern || !ok {
				continue
			}
			if _, err := regexp.Compile(text); err != nil {
				return at + ".args." + key, err
			}
		}
	}
	for i, p := range x.Plugins {
		at := fmt.Sprintf(".plugins[%d]", i)
		if p.Plugin == "" {
			return at, errors.New("which plugin? Write plugin: NAME")
		}
		if err := choice(p.Did, "replaced", "withheld", "emitted", "stopped"); err != nil {
			return at + ".did", err
		}
		if _, err := regexp.Compile(p.Reason); err != nil {
			return at + ".reason", err
		}
	}
	if x.Text != nil {
		if _, err := regexp.Compile(x.Text.Pattern); err != nil {
			return ".text.pattern", err
		}
		if x.Text.Schema != nil {
			if _, err := tool.Schema(x.Text.Schema); err != nil {
				return ".text.schema", err
			}
		}
	}
	return "", nil
}

// columns of a table of cases.
var columns = []string{"id", "input", "calls", "contains", "pattern", "reference", "denied", "state"}

// readTable reads a table: the first row names the columns.
func readTable(name string, data []byte) ([]*Case, error) {
	r := csv.NewReader(bytes.NewReader(data))
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: the first row names the columns, such as id,input,contains: %w", name, err)
	}
	for _, column := range header {
		if !slices.Contains(columns, column) {
			return nil, fmt.Errorf("%s: there is no column %q%s", name, column, yamlfile.Meant(column, columns))
		}
	}
	for i, column := range header {
		if slices.Contains(header[:i], column) {
			return nil, fmt.Errorf("%s: two columns have the name %q", name, column)
		}
	}
	if !slices.Contains(header, "input") {
		return nil, fmt.Errorf("%s: the table has no column input", name)
	}
	var cases []*Case
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := r.FieldPos(0)
		c := &Case{ID: fmt.Sprint("row-", line), Turns: []*Turn{{}}}
		for i, value := range row {
			if value == "" {
				continue
			}
			if err := c.setColumn(header[i], value); err != nil {
				return nil, fmt.Errorf("%s:%d: %s: %w", name, line, header[i], err)
			}
		}
		if path, err := c.Turns[0].Expect.check(); err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", name, line, strings.TrimPrefix(path, "."), err)
		}
		if c.Turns[0].User == "" {
			return nil, fmt.Errorf("%s:%d: the row has no input", name, line)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%s: the table has no row", name)
	}
	return cases, nil
}

var errMore = errors.New("there is more after it")

// An object is one of JSON, with all digits of its whole numbers.
type object map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(data []byte) error {
	value, err := session.DecodeValue(data)
	if err != nil {
		return err
	}
	members, ok := value.(map[string]any)
	if !ok && value != nil {
		return fmt.Errorf("%s is no JSON object such as {\"key\": 1}", eventtext.OneLine(string(data), 60))
	}
	*o = members
	return nil
}

// setColumn takes in a value of a row.
func (c *Case) setColumn(column, value string) error {
	t := c.Turns[0]
	x := &t.Expect
	text := func() *ExpectedText {
		if x.Text == nil {
			x.Text = &ExpectedText{}
		}
		return x.Text
	}
	switch column {
	case "id":
		c.ID = value
	case "input":
		t.User = value
	case "calls": // names, or JSON
		if !strings.HasPrefix(value, "[") {
			for _, name := range strings.Split(value, ";") {
				x.Calls = append(x.Calls, ExpectedCall{Name: strings.TrimSpace(name)})
			}
			return nil
		}
		d := json.NewDecoder(strings.NewReader(value))
		d.DisallowUnknownFields()
		var calls []struct {
			ExpectedCall
			Args object `json:"args"`
		}
		if err := d.Decode(&calls); err != nil || d.More() {
			return fmt.Errorf(`it is names, or JSON such as [{"name": "f", "args": {}, "match": "subset"}]: %v`, cmp.Or(err, errMore))
		}
		x.Calls = []ExpectedCall{}
		for _, call := range calls {
			x.Calls = append(x.Calls, ExpectedCall{Name: call.Name, Args: call.Args, Match: call.Match})
		}
	case "contains":
		text().Contains = []string{value}
	case "pattern":
		text().Pattern = value
		_, err := regexp.Compile(value)
		return err
	case "reference":
		x.Reference = value
	case "denied":
		yes := value == "true" || value == "yes"
		if !yes && value != "false" && value != "no" {
			return fmt.Errorf("it is true or false, not %q", value)
		}
		x.Denied = &yes
	case "state":
		return (*object)(&c.State).UnmarshalJSON([]byte(value))
	}
	return nil
}
