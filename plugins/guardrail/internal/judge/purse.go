package judge

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
)

// usage is what a request to a model has used, or will use.
type usage struct {
	tokens int
	usd    float64
	priced bool // usd is known
}

// purse counts what models have used in a period. A request is counted by an estimate before it is
// sent, so that requests at the same time do not spend the same rest.
type purse struct {
	mu    sync.Mutex
	since time.Time // when the period began
	usage
}

// take counts what a request will use, by an estimate. If that is more than is left of the budget, it
// returns a judging.NoAnswer. Otherwise settle corrects the count once it is known what the request has used.
func (p *purse) take(b judging.Budget, now time.Time, estimate usage) (settle func(usage), err error) {
	if b.Per == 0 {
		return func(usage) {}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !now.Before(p.since.Add(b.Per)) {
		p.since = now
		p.usage = usage{}
	}
	what := ""
	switch {
	case b.Tokens > 0 && p.tokens+estimate.tokens > b.Tokens:
		what = fmt.Sprintf("%d tokens", b.Tokens)
	case b.USD > 0 && p.usd+estimate.usd > b.USD:
		what = fmt.Sprintf("%v USD", b.USD)
	}
	if what != "" {
		end := p.since.Add(b.Per)
		return nil, judging.NoAnswer{
			Why:        fmt.Sprintf("its model was not asked: the policy's judges may use %s in %s, and that is spent until %s", what, b.Per, end.UTC().Format(time.RFC3339)),
			OverBudget: true,
		}
	}
	p.tokens += estimate.tokens
	p.usd += estimate.usd
	since := p.since
	return func(used usage) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.since.Equal(since) { // otherwise it is of a period that is over
			p.tokens += used.tokens - estimate.tokens
			p.usd += used.usd - estimate.usd
		}
	}, nil
}

func overBudget(err error) bool {
	why, ok := errors.AsType[judging.NoAnswer](err)
	return ok && why.OverBudget
}

// Tokens are estimated as a quarter of the bytes, and an answer as a number of them.
const (
	bytesOfToken   = 4
	tokensOfAnswer = 24
)

// estimated is what a request of a size to a model uses, by a rule of thumb.
func (p *Pool) estimated(name string, bytes, answers int) usage {
	return p.priced(name, "", &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount:     int32(bytes / bytesOfToken),
		CandidatesTokenCount: int32(answers * tokensOfAnswer),
	})
}

// priced is what a request has used, by what its model reports; nil if it reports nothing. The price is that
// of the model's name in the policy or, if that has none, of the one that it reports.
func (p *Pool) priced(name, reported string, u *genai.GenerateContentResponseUsageMetadata) (used usage) {
	if u == nil {
		return used
	}
	used.tokens = int(max(u.TotalTokenCount, u.PromptTokenCount+u.CandidatesTokenCount+u.ThoughtsTokenCount))
	price, ok := p.price(name)
	if !ok {
		price, ok = p.price(reported)
	}
	used.usd = price.Cost(u)
	used.priced = ok
	return used
}
