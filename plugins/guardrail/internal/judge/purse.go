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
	users map[string]usage // what was used for the texts of each user
}

// take counts what a request about a text of a user will use, by an estimate; "" is nobody in particular. If that is
// more than is left of the budget, or of the user's share, it returns a judging.NoAnswer. Otherwise settle corrects the count once it is known what the request has used.
func (p *purse) take(
	b judging.Budget, user string, now time.Time, estimate usage,
) (settle func(usage), err error) {
	if b.Per == 0 {
		return func(usage) {}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !now.Before(p.since.Add(b.Per)) {
		p.since = now
		p.usage = usage{}
		p.users = map[string]usage{}
	}
	what := spent(b, p.usage, estimate)
	if what == "" && user != "" {
		share := judging.Budget{Tokens: int(float64(b.Tokens) * b.Share), USD: b.USD * b.Share}
		if what = spent(share, p.users[user], estimate); what != "" {
			what += " for one user"
		}
	}
	if what != "" {
		end := p.since.Add(b.Per)
		return nil, judging.NoAnswer{
			Why:        fmt.Sprintf("its model was not asked: the policy's judges may use %s in %s, and that is spent until %s", what, b.Per, end.UTC().Format(time.RFC3339)),
			OverBudget: true,
		}
	}
	p.add(user, estimate.tokens, estimate.usd)
	since := p.since
	return func(used usage) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.since.Equal(since) { // otherwise it is of a period that is over
			p.add(user, used.tokens-estimate.tokens, used.usd-estimate.usd)
		}
	}, nil
}

// spent says what of a budget has no room for a request any more, "" if it has.
func spent(b judging.Budget, used, request usage) string {
	switch {
	case b.Tokens > 0 && used.tokens+request.tokens > b.Tokens:
		return fmt.Sprintf("%d tokens", b.Tokens)
	case b.USD > 0 && used.usd+request.usd > b.USD:
		return fmt.Sprintf("%v USD", b.USD)
	}
	return ""
}

// add counts what was used. The lock is held.
func (p *purse) add(user string, tokens int, usd float64) {
	p.tokens += tokens
	p.usd += usd
	if user != "" {
		mine := p.users[user]
		mine.tokens += tokens
		mine.usd += usd
		p.users[user] = mine
	}
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
