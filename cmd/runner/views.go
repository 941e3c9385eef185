package main

import (
	"cmp"
	"context"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/cmd/runner/internal/playback"
	"github.com/plughook/plughook/internal/debuglog"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// views is what replay --views prints: the text of prompts, as compaction leaves them.
type views struct {
	which  string // last or calls
	budget int    // tokens of a text
}

// between is how many events come between two looks at a session, as if somebody had run it.
const between = 50

// view is a line of the output.
type view struct {
	Session string `json:"session"`
	Event   string `json:"event,omitzero"`
	Text    string `json:"text"`
}

// views prints the views of recorded sessions.
func (p *program) views(ctx context.Context, files []string, v views, bounded bool) error {
	switch {
	case v.which != "last" && v.which != "calls":
		return cli.CheckChoice("views", v.which, "last", "calls")
	case bounded && v.budget < 64:
		return exit.Usage.Errorf("--budget %d: at least 64 tokens are needed", v.budget)
	}
	settings, err := p.viewing(ctx, &v, bounded)
	if err != nil {
		return err
	}
	recs, err := playback.Recordings(ctx, p.Program, files)
	if err != nil {
		return err
	}
	bar := p.Progress("views", len(recs))
	defer bar.End()
	long := 0
	for _, rec := range recs {
		s := &viewed{program: p, views: v, settings: settings, rec: rec, sessions: memory.New()}
		if err := s.play(ctx); err != nil {
			return err
		}
		long += s.long
		bar.Add()
	}
	if long > 0 {
		return exit.Other.Errorf("%s not printed: what must stay in them has more than %d tokens",
			phrase.Count(long, "view"), v.budget)
	}
	return nil
}

// viewing returns how the plugin compaction is set up for views, and completes v.
func (p *program) viewing(ctx context.Context, v *views, bounded bool) (compaction.Config, error) {
	c, err := p.LoadConfig(ctx)
	if err != nil {
		return compaction.Config{}, err
	}
	settings, _ := c.Compaction()
	settings.Summarizer, err = c.Summarizer(ctx)
	if err != nil {
		return settings, exit.OfConfig(err)
	}
	settings.Log = debuglog.New(p.Log)
	settings.Foreground = true
	settings.Count = quarters
	if !bounded {
		settings.Window = cmp.Or(settings.Window, max(128_000, settings.Budget))
		settings.Budget = cmp.Or(settings.Budget, settings.Window*4/5)
		v.budget = settings.Budget
		return settings, nil
	}
	// Nearly all of the budget is the summary's: what was said last is a question and its answer.
	settings.Window = max(settings.Window, v.budget)
	settings.Budget = v.budget
	settings.Trigger = v.budget
	settings.Fraction = 0
	settings.MinGain = 1
	settings.Tail = v.budget / 16
	keep := &settings.Keep
	if len(keep.Authors)+len(keep.Tools)+len(keep.Events) > 0 {
		keep.Tokens = min(cmp.Or(keep.Tokens, v.budget/16), v.budget/4)
	} else {
		keep.Tokens = 0
	}
	settings.Summary = v.budget - settings.Tail - settings.Keep.Tokens - settings.MinGain
	return settings, nil
}

// quarters counts a content's share of the tokens of a text, of four characters each: the shares of
// a view's contents are no less than the view's tokens, the breaks between them included.
func quarters(c *genai.Content) int {
	runes := 0
	for _, p := range c.Parts {
		n := utf8.RuneCountInString(compaction.Text([]*session.Event{{Content: &genai.Content{Parts: []*genai.Part{p}}}}))
		if n > 0 {
			runes += n + 1
		}
	}
	return (runes + 3) / 4
}
