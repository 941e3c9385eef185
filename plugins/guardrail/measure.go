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
	"github.com/plughook/plughook/plugins/guardrail/internal/vault"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// A Judge asks the judge of one rule of a policy outside of a run, to measure it. It asks as the plugin
// does: with the same words, about what the policy's other rules leave of a text, within the policy's
// budget. It may be used by several goroutines at once.
type Judge struct {
	config Config
	policy *policy.Policy
	known  *policy.Policy // with a key that is always the same, for ids: what it makes of a text is not sent
	spec   policy.Judge
	pool   *judge.Pool

	opening sync.Mutex
	opened  *judge.Judge // nil until somebody is asked
}

// NewJudge returns the judge of a rule, and false if the policy has no rule of this id with a judge. Of
// the configuration it uses Policy, Key (a random one if it is nil), Models, Price and Now. Models is called when the judge is asked
// for the first time. The Judge has to be closed.
func NewJudge(c Config, rule string) (j *Judge, ok bool) {
	specs := c.Policy.Judges()
	i := slices.IndexFunc(specs, func(spec policy.Judge) bool { return spec.Rule == rule })
	if i < 0 {
		return nil, false
	}
	c.complete()
	j = &Judge{
		config: c,
		policy: c.Policy,
		known:  c.Policy.WithKey(make([]byte, vault.MinSecret)),
		spec:   specs[i],
		pool:   judge.NewPool(newMetrics().judges, c.Now, c.Price),
	}
	if c.Key != nil {
		j.policy = c.Policy.WithKey(c.Key)
	}
	return j, true
}

// A JudgeQuestion is what the judge of a rule is asked about a text.
type JudgeQuestion struct {
	// ID is a digest of all that the answer depends on: the model or the address, the question with
	// its examples, the stage, and the text as it is sent, whatever the key of what is hidden in it.
	ID string
	q  judge.Question
}

// Question returns what the rule's judge is asked about a text at a stage, and false if it is not asked,
// because the rule is about something else or its condition is not true. results are what tools have
// answered, the latest first, for a rule with grounding. The error says that the rule's condition cannot be
// computed.
func (j *Judge) Question(
	scope policy.Scope, stage policy.Stage, text string, results []string,
) (q JudgeQuestion, asked bool, err error) {
	// Is it asked?
	var v policy.Verdict
	alone := j.policy.Only(j.spec.Rule).At(&scope, stage)
	asked = len(alone.Judges(&v, text, j.spec.Parts)) > 0
	if !asked || text == "" || j.spec.Grounding && len(results) == 0 {
		return q, false, v.Err
	}

	// What does it see?
	q.q = judge.Question{Stage: stage, Text: text}
	if j.spec.Grounding {
		q.q.Grounds, q.q.Cut = groundsOf(slices.Values(results))
	}
	same := q.q // as it is each time
	if !j.spec.Original {
		var found policy.Verdict
		j.policy.At(&scope, stage).Find(&found, nil, text, nil)
		left := j.policy.Left(&found, text)
		q.q.Text = left.Text
		left = j.known.Left(&found, text)
		same.Text = left.Text
	}
	about, err := json.Marshal([]any{j.spec.URL, j.spec.Model, j.spec.Question, j.spec.Examples, same})
	if err != nil {
		panic(err) // these are texts
	}
	sum := sha256.Sum256(about)
	q.ID = hex.EncodeToString(sum[:])
	return q, true, nil
}

// A JudgeAnswer is what a judge has answered.
type JudgeAnswer struct {
	policy.Answer
	// Raw is the answer as it came, which Read takes; "" if none came.
	Raw string
	// Tokens is how many tokens a model has used, and USD what they cost, if that is known.
	Tokens int
	USD    float64
	Priced bool
}

// Ask asks the judge. Its error is a [policy.NoAnswer] if the judge does not answer as it should, and
// then the answer has what came in its place.
func (j *Judge) Ask(ctx context.Context, q JudgeQuestion) (a JudgeAnswer, err error) {
	opened, err := j.open()
	if err != nil {
		return a, err
	}
	said, err := judge.Ask([]*judge.Judge{opened}, q.q)[0].Answer(ctx)
	return JudgeAnswer(said), err
}

// open opens the judge.
func (j *Judge) open() (*judge.Judge, error) {
	j.opening.Lock()
	defer j.opening.Unlock()
	if j.opened != nil {
		return j.opened, nil
	}
	if err := j.policy.CheckPrices(j.config.Price); err != nil {
		return nil, err
	}
	opened, err := j.pool.Open(j.spec, j.config.Models)
	if err != nil {
		return nil, fmt.Errorf("%s: rule %s: %w", j.policy.Name(), j.spec.Rule, err)
	}
	j.opened = opened
	return opened, nil
}

// Read reads an answer to a question as it came earlier.
func (j *Judge) Read(raw string, q JudgeQuestion) (JudgeAnswer, error) {
	said, err := j.spec.Read([]byte(raw), q.q.Text)
	return JudgeAnswer{Answer: said, Raw: raw}, err
}

// Threshold is the score from which the rule acts on a text.
func (j *Judge) Threshold() float64 { return j.spec.Threshold }

// Grounding reports whether the judge is asked about what follows from tools' answers.
func (j *Judge) Grounding() bool { return j.spec.Grounding }

// Who returns whom the rule asks: the address of a service, or "model" and its name.
func (j *Judge) Who() string { return cmp.Or(j.spec.URL, "model "+j.spec.Model) }

// Close ends what is asked, and waits for it until the context is done.
func (j *Judge) Close(ctx context.Context) error { return j.pool.Close(ctx) }
