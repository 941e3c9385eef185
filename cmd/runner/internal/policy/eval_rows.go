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
		return nil, exit.Usage.Errorf("%d of %d lines are wrong, and nothing was measured", wrong, lines)
	case lines == 0:
		return nil, exit.Usage.Errorf("%s: there is no text in it", strings.Join(files, ", "))
	}
	return rows, nil
}

// read reads a row. Its error does not quote the line.
func (r *labelledRow) read(line []byte, form labelForm) error {
	if !jsontext.Value(line).IsValid() {
		return errors.New("it is not JSON, or has a key twice")
	}
	if jsonstrict.Unmarshal(line, r) != nil || r.Label == nil || r.Text == "" {
		return errors.New(`it must be an object with a text that is not empty, and a label that is true or false; results is a list of texts`)
	}
	if len(r.Text) > form.most {
		return fmt.Errorf("its text has %d bytes, and the policy judges at most %d (limits.max_bytes)", len(r.Text), form.most)
	}
	r.stage = cmp.Or(r.Stage, form.stage)
	r.scope = form.scope
	if names := stageNames(); !slices.Contains(names, string(r.stage)) {
		return fmt.Errorf("its stage is one of %s", strings.Join(names, ", "))
	}
	if why := form.rule.Silent(r.stage, r.scope); why != "" {
		return fmt.Errorf("the rule %s does not judge this text at the stage %s: %s", form.rule.ID, r.stage, why)
	}
	if form.judge != nil && form.judge.Grounding() && len(r.Results) == 0 {
		return errors.New("it has no results, and the rule's judge is asked only where tools have answered")
	}
	return nil
}
