package guardrail

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/plughook/plughook/plugins/guardrail/internal/judge"
	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/internal/vault"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// A Judge asks the judge of one rule of a policy outside of a run, to measure it. It asks as the plugin
// does: with the same words, about what the policy's other rules leave of a text, within the policy's
// budget. It may be used by several goroutines at once.
type Judge struct {
	judging.Judge
	// Kept returns the answer to a question that was kept earlier, if there is one; it may be nil.
	Kept func(question string) (raw string, ok bool)

	config Config
	policy *policy.Policy
	known  *policy.Policy // with a key that is always the same, for ids: what it makes of a text is not sent
	pool   *judge.Pool
	open   func() (*judge.Judge, error) // once, for the first question
}

// NewJudge returns the judge of a rule, and false if the policy has no rule of this id with a judge. Of
// the configuration it uses Policy, Key (a random one if it is nil), Models, Price and Now. Models is
// called when the judge is asked for the first time. The Judge has to be closed.
func NewJudge(c Config, rule string) (j *Judge, ok bool) {
	specs := c.Policy.Judges()
	i := slices.IndexFunc(specs, func(spec judging.Judge) bool { return spec.Rule == rule })
	if i < 0 {
		return nil, false
	}
	c.complete()
	j = &Judge{
		Judge:  specs[i],
		config: c,
		policy: c.Policy,
		known:  c.Policy.WithKey(make([]byte, vault.MinSecret)),
		pool:   judge.NewPool(newMetrics().judges, c.Now, c.Price),
	}
	if c.Key != nil {
		j.policy = c.Policy.WithKey(c.Key)
	}
	j.open = sync.OnceValues(j.openJudge)
	return j, true
}

// A NoAnswer is the error of a [Judge] that does not answer as it should.
type NoAnswer = judging.NoAnswer

// A JudgeAnswer is what a judge has answered.
type JudgeAnswer struct {
	judging.Answer
	// Question is a digest of all that the answer depends on: the model or the address, the question with
	// its examples, the stage, and the text as it is sent, whatever the key of what is hidden in it. It is
	// empty if the rule has no question about the text: it is about something else, or its condition is false.
	Question string
	// Raw is the answer as it came, to be kept; "" if the judge was not asked, or nothing came.
	Raw   string
	Asked bool // and not kept
	// Tokens is how many tokens a model has used.
	Tokens int
}

// Ask asks the rule's judge about a text at a stage, if the answer was not kept. results are what tools have
// answered, the latest first, for a rule with grounding. The error is a [NoAnswer] if the judge does
// not answer as it should, or the rule's condition cannot be computed; another error says that the judge
// cannot be asked about any text.
func (j *Judge) Ask(
	ctx context.Context, scope policy.Scope, stage policy.Stage, text string, results []string,
) (a JudgeAnswer, err error) {
	// Is it asked?
	var v policy.Verdict
	alone := j.policy.Only(j.Rule).At(&scope, stage)
	asked := len(alone.Judges(&v, text, j.Parts)) > 0
	switch {
	case v.Err != nil:
		return a, judging.NoAnswer{Why: v.Err.Error()}
	case !asked || text == "" || j.Grounding && len(results) == 0:
		return a, nil
	}

	// What does it see?
	question := judge.Question{Stage: stage, Text: text}
	if j.Grounding {
		question.Grounds, question.Cut = groundsOf(slices.Values(results))
	}
	same := question // as it is each time
	if !j.Original {
		var found policy.Verdict
		j.policy.At(&scope, stage).Find(&found, nil, text, nil)
		question.Text = j.policy.Left(&found, text).Text
		same.Text = j.known.Left(&found, text).Text
	}
	about, err := json.Marshal([]any{j.URL, j.Model, j.Judge.Question, j.Examples, same})
	if err != nil {
		panic(err) // these are texts
	}
	sum := sha256.Sum256(about)
	a.Question = hex.EncodeToString(sum[:])

	// Read the answer that was kept, or ask.
	if j.Kept != nil {
		if raw, ok := j.Kept(a.Question); ok {
			a.Answer, err = j.Read([]byte(raw), question.Text)
			return a, err
		}
	}
	opened, err := j.open()
	if err != nil {
		return a, err
	}
	answer, err := judge.Ask([]*judge.Judge{opened}, question)[0].Answer(ctx)
	a.Answer, a.Raw, a.Tokens, a.Asked = answer.Answer, answer.Raw, answer.Tokens, true
	return a, err
}

func (j *Judge) openJudge() (*judge.Judge, error) {
	if err := j.policy.CheckPrices(j.config.Price); err != nil {
		return nil, err
	}
	opened, err := j.pool.Open(j.Judge, j.config.Models)
	if err != nil {
		return nil, fmt.Errorf("%s: rule %s: %w", j.policy.Name(), j.Rule, err)
	}
	return opened, nil
}

// Who returns whom the rule asks: the address of a service, or "model" and its name.
func (j *Judge) Who() string { return cmp.Or(j.URL, "model "+j.Model) }

// Close ends what is asked, and waits for it until the context is done.
func (j *Judge) Close(ctx context.Context) error { return j.pool.Close(ctx) }
