package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/prices"
)

// A Judge asks models about criteria. It asks as the guardrail's judges do, and with a budget like theirs.
type Judge struct {
	// Model is asked in place of the model that a criterion names, if it is not "".
	Model string
	// Models opens a model by its name, and Price says what it costs, as in guardrail.Config.
	Models func(name string) (model.Model, error)
	Price  func(name string) (prices.Price, bool)
	// Tokens bounds what all questions take: nothing is asked once so many are used. 0 is a million.
	Tokens int
	// Kept returns an answer that was kept, and Keep keeps one. They may be nil.
	Kept func(question string) (raw string, ok bool)
	Keep func(guardrail.JudgeAnswer) error

	mu     sync.Mutex
	judges map[string]*guardrail.Judge // by model and question
	used   int
}

// judgeResponse is asked about an answer and its reference.
const judgeResponse = `Among the tools' answers is one that begins with REFERENCE: it is the right answer to the user, ` +
	`written by a person, and the one that begins with USER is what the user has said. ` +
	`Does the text say the same as the reference, in all that the user asked for? ` +
	`Other words, another order and more politeness are no difference. A missing, another or a contradicting fact is one.`

// score asks about a turn, and returns the share of yeses.
func (j *Judge) score(ctx context.Context, c *Criterion, t *turnRun, reference string) (score float64, why string, err error) {
	said := "USER: " + t.User
	if t.Content != nil {
		said = "USER: " + textOf(t.Content)
	}
	if c.Name == FinalResponseMatch {
		yes, err := j.ask(ctx, c, judgeResponse, t.answer, []string{"REFERENCE: " + reference, said})
		if err != nil || !yes {
			return 0, fmt.Sprintf("the judge says no: want %s, got %s", quoted(reference), quoted(t.answer)), err
		}
		return 1, "", nil
	}
	text := t.answer
	what := "the text, which is an agent's answer,"
	if c.Name == ToolUseQuality {
		what = "the text, which is a list of an agent's tool calls,"
		var made []string
		for _, call := range t.made() {
			made = append(made, written(call.Name, call.Args))
		}
		text = strings.Join(made, "\n")
		if text == "" {
			text = "(no tool call was made)"
		}
	}
	met := 0
	var unmet []string
	for _, r := range c.Rubrics {
		question := fmt.Sprintf("The tools' answers say what the user has said. Does %s have this property: %s", what, r.Text)
		yes, err := j.ask(ctx, c, question, text, []string{said})
		if err != nil {
			return 0, "", err
		}
		if yes {
			met++
			continue
		}
		unmet = append(unmet, r.ID)
	}
	score = float64(met) / float64(len(c.Rubrics))
	return score, fmt.Sprintf("the judge says no to %s: %s", strings.Join(unmet, ", "), quoted(text)), nil
}

// ask asks one question about a text.
func (j *Judge) ask(ctx context.Context, c *Criterion, question, text string, results []string) (yes bool, err error) {
	if text == "" {
		return false, nil
	}
	judge, err := j.of(c, question)
	if err != nil {
		return false, err
	}
	if most := j.most(); j.Used() >= most {
		return false, fmt.Errorf("%s: the %d tokens that judges may take are used", c.Name, most)
	}
	a, err := judge.Ask(ctx, policy.Scope{}, policy.Output, text, results)
	j.mu.Lock()
	j.used += a.Tokens
	j.mu.Unlock()
	if err != nil {
		return false, fmt.Errorf("%s: %w", c.Name, err)
	}
	if j.Keep != nil {
		if err := j.Keep(a); err != nil {
			return false, err
		}
	}
	return a.Flagged, nil
}

func (j *Judge) most() int { return cmp.Or(j.Tokens, 1_000_000) }

// model returns the name of the model that judges a criterion.
func (j *Judge) model(c *Criterion) (string, error) {
	switch name := cmp.Or(j.Model, c.JudgeModel); {
	case name == "":
		return "", fmt.Errorf("criterion %s: it names no judge_model; name one with --judge-model", c.Name)
	case j.Model == "" && !strings.Contains(name, ":"):
		return "gemini:" + name, nil // the kit's names
	default:
		return name, nil
	}
}

// Check returns an error if a model that judges one of the cases cannot be opened.
func (j *Judge) Check(cases []*Case) error {
	checked := map[string]bool{}
	for _, one := range cases {
		for i := range one.Criteria {
			c := &one.Criteria[i]
			if c.Skipped || c.Name == ToolTrajectory || c.Name == ResponseMatch {
				continue
			}
			name, err := j.model(c)
			if err != nil {
				return err
			}
			if checked[name] {
				continue
			}
			checked[name] = true
			m, err := j.Models(name)
			if err != nil {
				return fmt.Errorf("criterion %s: %w", c.Name, err)
			}
			if closer, ok := m.(io.Closer); ok {
				if err := closer.Close(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// of returns the judge of a question.
func (j *Judge) of(c *Criterion, question string) (*guardrail.Judge, error) {
	name, err := j.model(c)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	key := name + "\n" + question
	if judge := j.judges[key]; judge != nil {
		return judge, nil
	}
	type object = map[string]any
	text, err := json.Marshal(object{
		"judges": object{"tokens": j.most(), "per": "24h", "user_share": 1},
		"rules": []object{{
			"id": "criterion", "stages": []string{"output"}, "mode": "shadow", "action": "flag",
			"judge": object{"model": name, "question": question, "grounding": true, "timeout": "1m", "on_error": "block"},
		}},
	})
	if err != nil {
		return nil, err
	}
	pol, err := policy.Parse("criterion "+c.Name, text)
	if err != nil {
		return nil, err
	}
	judge, ok := guardrail.NewJudge(guardrail.Config{Policy: pol, Models: j.Models, Price: j.Price}, "criterion")
	if !ok {
		return nil, fmt.Errorf("criterion %s has no judge", c.Name)
	}
	judge.Kept = j.Kept
	if j.judges == nil {
		j.judges = map[string]*guardrail.Judge{}
	}
	j.judges[key] = judge
	return judge, nil
}

// Used returns how many tokens the answers have taken.
func (j *Judge) Used() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.used
}

// Close closes what was opened to ask.
func (j *Judge) Close(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var first error
	for _, judge := range j.judges {
		if err := judge.Close(ctx); err != nil && first == nil {
			first = err
		}
	}
	return first
}
