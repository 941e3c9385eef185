package policy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	jsonstrict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/prices"
)

// configured is the configuration, read once a model of it, or a price, is asked for.
type configured struct {
	open func() (*config.Config, error)
}

// model returns a function that opens a model of the configuration.
func (c *configured) model(ctx context.Context) func(name string) (model.Model, error) {
	return func(name string) (model.Model, error) {
		settings, err := c.open()
		if err != nil {
			return nil, err
		}
		m, err := settings.Model(ctx, name)
		if err != nil && settings.Name() == "" {
			err = fmt.Errorf("%w (no configuration was read: --config names one)", err)
		}
		return m, err
	}
}

// price returns what a model costs. It counts as known where the model cannot be opened: model then
// says why, and that is what has to be mended.
func (c *configured) price(name string) (prices.Price, bool) {
	settings, err := c.open()
	if err != nil || settings.Name() == "" && !strings.Contains(name, ":") {
		return prices.Price{}, true
	}
	return settings.Price(name)
}

// labelledRow is a text, whether the rule should act on it, and what the rule has made of it.
type labelledRow struct {
	ID      jsontext.Value `json:"id"`
	Text    string         `json:"text"`
	Label   *bool          `json:"label"`
	Stage   policy.Stage   `json:"stage"`
	Results []string       `json:"results"`

	file  string
	line  int
	stage policy.Stage
	scope policy.Scope

	flagged         bool
	score           float64
	failure         error // why the rule could not judge it
	asked, recorded bool
	answer          guardrail.JudgeAnswer
}

// labelForm is what a row has to fit.
type labelForm struct {
	rule  policy.Rule
	stage policy.Stage // of rows that have none
	scope policy.Scope
	judge *guardrail.Judge // nil if the rule has none
	most  int              // bytes of a text
}

// labelled reads the rows of files. All lines that are wrong are told, up to ten.
func (p *commands) labelled(ctx context.Context, files []string, form labelForm) ([]*labelledRow, error) {
	var rows []*labelledRow
	lines := 0
	wrong := 0
	for _, name := range files {
		in, err := p.OpenInput(ctx, name)
		if err != nil {
			return nil, exit.Usage.As(err)
		}
		defer in.Close() // it is only read
		from := bufio.NewReaderSize(in, 1<<16)
		for n := 1; ; n++ {
			line, err := from.ReadBytes('\n')
			if err != nil && err != io.EOF {
				return nil, exit.Usage.Errorf("%s:%d: %w", in.Name, n, err)
			}
			if n == 1 { // some editors begin a file so
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			if len(bytes.TrimSpace(line)) > 0 {
				lines++
				r := &labelledRow{file: in.Name, line: n}
				if bad := r.read(line, form); bad == nil {
					rows = append(rows, r)
				} else if wrong++; wrong <= maxReported {
					fmt.Fprintln(p.Err, eventtext.Printable(fmt.Sprintf("%s:%d: %v", in.Name, n, bad)))
				}
			}
			if err == io.EOF {
				break
			}
		}
	}
	switch {
	case wrong > 0:
		return nil, exit.Usage.Errorf("%s, and nothing was measured", phrase.Of(wrong, lines, "line", "is wrong", "are wrong"))
	case lines == 0:
		return nil, exit.Usage.Errorf("%s: there is no text in it", strings.Join(files, ", "))
	}
	return rows, nil
}

// read reads a row. Its error says which field is wrong, and quotes nothing of the line.
func (r *labelledRow) read(line []byte, form labelForm) error {
	// Is it an object?
	if err := validLine(line); err != nil {
		return err
	}
	if kind := kindOf(line); kind != "an object" {
		return fmt.Errorf(`this is %s; write an object: {"text": "…", "label": true}`, kind)
	}

	// Has each field a value of the right kind?
	var fields map[string]jsontext.Value
	if err := jsonstrict.Unmarshal(line, &fields); err != nil {
		return errors.New("this cannot be read as an object")
	}
	for _, f := range rowFields {
		value, ok := fields[f.name]
		switch {
		case !ok && f.required:
			return fmt.Errorf("%s is missing; write %s", f.name, f.form)
		case ok && !slices.Contains(f.kinds, kindOf(value)):
			return fmt.Errorf("%s is %s; write %s", f.name, kindOf(value), f.form)
		}
	}
	if err := jsonstrict.Unmarshal(line, r); err != nil { // only the items are left to be wrong
		return errors.New(`results has an item that is no text; write "results": ["…"], the latest answer first`)
	}

	// Can the rule judge it?
	if r.Text == "" {
		return errors.New("text is empty; write the text that the rule is to judge, or delete the line")
	}
	if len(r.Text) > form.most {
		return fmt.Errorf("text has %d bytes, and the policy judges at most %d (limits.max_bytes); shorten it, or raise the limit", len(r.Text), form.most)
	}
	r.stage = cmp.Or(r.Stage, form.stage)
	r.scope = form.scope
	if names := stageNames(); !slices.Contains(names, string(r.stage)) {
		return fmt.Errorf("stage is none that there is; write one of %s", strings.Join(names, ", "))
	}
	if why := form.rule.Silent(r.stage, r.scope); why != "" {
		return fmt.Errorf("the rule %s does not judge this text at the stage %s: %s (the stage stands in the line or in --stage; flags such as --tool, --agent and --user say whose text it is)",
			form.rule.ID, r.stage, why)
	}
	if form.judge != nil && form.judge.Grounding() && len(r.Results) == 0 {
		return errors.New(`results is missing or empty, and the rule's judge is asked only where tools have answered; write "results": ["…"], the latest answer first`)
	}
	return nil
}

// rowField says what a field of a row is.
type rowField struct {
	name     string
	required bool
	kinds    []string
	form     string // what to write
}

var rowFields = []rowField{
	{name: "text", required: true, kinds: []string{"a text"}, form: `"text": "…"`},
	{name: "label", required: true, kinds: []string{"true or false"},
		form: `"label": true for a text on which the rule should act, or "label": false`},
	{name: "stage", kinds: []string{"a text", "null"}, form: `"stage": "input" or the name of another stage, or leave it out`},
	{name: "results", kinds: []string{"a list", "null"}, form: `"results": ["…"], the latest answer first, or leave it out`},
}

// validLine returns an error if a line is no JSON, or has a key twice. It quotes nothing of it.
func validLine(line []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(line))
	_, err := d.ReadValue()
	if err == nil {
		_, err = d.ReadToken() // there must be no second value
		if err == io.EOF {
			return nil
		}
		return errors.New("there is something behind the object; write one object a line")
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return errors.New("a key stands there twice; write it once")
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf(`this is not JSON (it goes wrong at byte %d); write an object on one line: {"text": "…", "label": true}`, syntax.ByteOffset+1)
	}
	return errors.New(`this is not JSON; write an object on one line: {"text": "…", "label": true}`)
}

// kindOf says what a valid JSON value is.
func kindOf(value jsontext.Value) string {
	return kindName(jsontext.Value(bytes.TrimSpace(value)).Kind())
}

// kindName names a kind of JSON values.
func kindName(kind jsontext.Kind) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	}
	return "null"
}
