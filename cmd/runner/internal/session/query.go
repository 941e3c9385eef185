package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/internal/words"
	"github.com/plughook/plughook/session"
)

// orders are the values of --sort.
var orders = []string{string(session.Newest), string(session.Oldest), string(session.Stored)}

// queryHelp says what the flags of a query do.
const queryHelp = `--since and --until go by the time of a session's last update. They take an age, such as 7d or 12h,
a day of the local zone, such as 2026-11-01, or a time as in RFC 3339. --until a day includes that day; --until a time
leaves out what is at that time or later.

--author, --tool, --error, --denied and --match are conditions on one event: a session is found if
its log has an event that meets all of them that are given, also one that was rewound or that a
summary stands for. --match takes words, all of which the event must have, whatever their case
and accents. --waiting finds sessions with a call that waits for an answer, --cut-off
those whose last run ended with its process: its input, sent again with its id, goes on.

Conditions on events read whole logs, unless the store has an index: see runner session index.`

// A query is what the flags about the choice of sessions say.
type query struct {
	session.Query
	since, until string
	order        string
}

// queryFlags defines the flags on a command, with a default for --sort.
func queryFlags(cmd *cobra.Command, order session.Order) *query {
	q := &query{}
	f := cmd.Flags()
	f.StringVar(&q.since, "since", "", "only sessions updated since this `time`, such as 7d or 2026-11-01")
	f.StringVar(&q.until, "until", "", "only sessions updated before this `time`; a day is included")
	f.StringVar(&q.Author, "author", "", "only with an event of this `author`: user, an agent, plugin/NAME")
	f.StringVar(&q.Tool, "tool", "", "only with a call of this tool, by its `name`")
	f.BoolVar(&q.Error, "error", false, "only with a failure of a run, a model or a tool")
	f.BoolVar(&q.Denied, "denied", false, "only with something that a policy refused")
	f.BoolVar(&q.Waiting, "waiting", false, "only with a call that waits for an answer")
	f.BoolVar(&q.CutOff, "cut-off", false, "only with a last run that was cut off, with its process")
	f.StringVar(&q.Match, "match", "", "only with an event that has all words of this `text`")
	f.IntVar(&q.Limit, "limit", 0, "at most `n` sessions")
	cli.Choice(cmd, &q.order, "sort", string(order), "", orders)
	return q
}

// given reports whether a flag of the query was given.
func (q *query) given(cmd *cobra.Command) bool {
	flags := []string{"since", "until", "author", "tool", "error", "denied", "waiting", "cut-off", "match", "limit", "sort"}
	return slices.ContainsFunc(flags, cmd.Flags().Changed)
}

// read reads what the flags say.
func (q *query) read(cmd *cobra.Command) (err error) {
	now := time.Now()
	if q.Since, err = timeOf("--since", q.since, now, time.Local, 0); err != nil {
		return err
	}
	if q.Until, err = timeOf("--until", q.until, now, time.Local, 1); err != nil {
		return err
	}
	q.Order = session.Order(q.order)
	if err := notEmpty(cmd, "since", "until", "author", "tool", "match"); err != nil {
		return err
	}
	if cmd.Flags().Changed("limit") && q.Limit < 1 {
		return exit.Usage.Errorf("--limit is at least 1")
	}
	if err := q.Check(); err != nil {
		return exit.Usage.As(cmp.Or(cli.CheckChoice("sort", q.order, orders...), err))
	}
	return nil
}

// notEmpty returns an error if one of these flags is given without a value, as by a script whose variable is not set.
func notEmpty(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		f := cmd.Flags().Lookup(name)
		if f.Changed && f.Value.String() == "" {
			return exit.Usage.Errorf("--%s is empty", name)
		}
	}
	return nil
}

// timeOf reads the time that a flag names, the zero time if it is empty: a day, of which it is the beginning, so many
// days later, or a time, or an age before now.
func timeOf(flag, text string, now time.Time, zone *time.Location, daysLater int) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return day.AddDate(0, 0, daysLater), nil
	}
	if moment, err := time.Parse(time.RFC3339, text); err == nil {
		return moment, nil
	}
	if age, err := ageOf(text); err == nil {
		return now.Add(-age), nil
	}
	return time.Time{}, exit.Usage.Errorf("%s %q: it is a day such as 2026-01-31, a time such as 2026-01-31T12:00:00Z, or an age such as 30d or 12h", flag, text)
}

// ageOf reads an age: a number of days, such as 90d, or a duration as Go writes it, such as 12h.
func ageOf(text string) (time.Duration, error) {
	age, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, e := strconv.ParseUint(days, 10, 16)
		age = time.Duration(n) * 24 * time.Hour
		err = e
	}
	if err == nil && age <= 0 {
		err = errors.New("no age")
	}
	return age, err
}

// search returns the sessions that the query, --app, --user and --session leave in.
func (p *commands) search(ctx context.Context, svc session.Service, q *query) ([]*session.Hit, error) {
	of := q.Query
	of.App = p.App
	of.User = p.User
	if p.Session != "" {
		of.Limit = 0 // of those with this id
	}
	p.sayIfSlow(ctx, svc, of)
	var list []*session.Hit
	for hit, err := range svc.Search(ctx, of) {
		if err != nil {
			return nil, exit.Store.As(err)
		}
		if !p.Selects(hit.Session.Key) {
			continue
		}
		list = append(list, hit)
		if len(list) == q.Limit {
			break
		}
	}
	return list, nil
}

// sayIfSlow says that a search reads whole logs, and what helps.
func (p *commands) sayIfSlow(ctx context.Context, svc session.Service, q session.Query) {
	store, can := svc.(session.Indexer)
	if !can || !q.OfEvents() {
		return
	}
	if indexed, err := store.Indexed(ctx); err == nil && !indexed {
		p.Note("reading every event: the store has no index; runner session index makes one")
	}
}

// hitLine is the event that was found, in the output for programs.
type hitLine struct {
	Seq    int64  `json:"seq"`
	ID     string `json:"id"`
	Author string `json:"author"`
	Live   bool   `json:"live"`
	Text   string `json:"text"`
}

// hitOf returns what is said of the event that was found, nil if no event was looked for.
func hitOf(hit *session.Hit, match string) *hitLine {
	e := hit.Event
	if e == nil {
		return nil
	}
	return &hitLine{
		Seq:    e.Seq,
		ID:     e.ID,
		Author: e.Author,
		Live:   hit.Live,
		Text:   excerpt(strings.Join(eventtext.Lines(e), " "), match),
	}
}

// String says it on a line.
func (h *hitLine) String() string {
	gone := ""
	if !h.Live {
		gone = ", not live"
	}
	return eventtext.Printable(fmt.Sprintf("%d %s%s: %s", h.Seq, h.Author, gone, h.Text))
}

// excerptRunes is how many characters of an event are shown.
const excerptRunes = 100

// excerpt returns the part of a text that has the most of the words that are looked for, on one line.
func excerpt(text, match string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= excerptRunes {
		return string(runes)
	}
	wanted := words.Wanted(match)
	start := 0
	most := 0
	for from := 0; from < len(runes); from += excerptRunes / 2 {
		has := map[string]struct{}{}
		words.Add(has, string(runes[from:min(len(runes), from+excerptRunes)]))
		found := 0
		for _, word := range wanted {
			if _, ok := has[word]; ok {
				found++
			}
		}
		if found > most {
			most = found
			start = from
		}
	}
	part := string(runes[start:min(len(runes), start+excerptRunes)])
	if start > 0 {
		part = "…" + part
	}
	if start+excerptRunes < len(runes) {
		part += "…"
	}
	return part
}

func (p *commands) indexCommand() *cobra.Command {
	remove := false
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Make the index that finds sessions by their events",
		Long: `Make an index of the words, authors, tools and failures of all events in the store, so that
session list and session export find sessions by them without reading whole logs. What is found is
the same with and without it.

The index is made while others use the store, and each append, of whichever program, keeps it up to
date from then on. If this is ended early, the next call goes on. The index is made of the events as they
are stored: what a policy took out is not in it. It goes with the session when that is deleted.
--remove removes the index.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return p.WithStore(ctx, false, func(svc session.Service, _ *config.Config) error {
				store, can := svc.(session.Indexer)
				if !can {
					return exit.Usage.Errorf("this store keeps no index")
				}
				if remove {
					if err := store.DropIndex(ctx); err != nil {
						return exit.Store.As(err)
					}
					p.Note("the store has no index")
					return nil
				}
				return p.index(ctx, store)
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the index")
	return cmd
}

// indexRest takes what waits into the index, if there is one: this process has brought much, and ends now.
func indexRest(ctx context.Context, svc session.Service) error {
	store, can := svc.(session.Indexer)
	if !can {
		return nil
	}
	indexed, err := store.Indexed(ctx)
	if err == nil && indexed {
		err = store.Index(ctx, nil)
	}
	return exit.Store.As(err)
}

// index makes the index, with a progress bar.
func (p *commands) index(ctx context.Context, store session.Indexer) error {
	var total int64
	for s, err := range store.List(ctx, "", "") {
		if err != nil {
			return exit.Store.As(err)
		}
		total += s.Position
	}
	bar := p.Progress("index", int(total))
	var taken int64
	err := store.Index(ctx, func(done, _ int64) {
		for ; taken < done; taken++ {
			bar.Add()
		}
	})
	bar.End()
	if err != nil {
		if ctx.Err() != nil {
			p.Note("the index is not made yet; runner session index goes on with it")
		}
		return exit.Store.As(err)
	}
	// Somebody else may have removed it meanwhile.
	indexed, err := store.Indexed(ctx)
	if err != nil {
		return exit.Store.As(err)
	}
	if !indexed {
		return exit.Store.Errorf("the index was removed while it was made; runner session index makes it again")
	}
	p.Note("the index is made: it took in %s, and knows all %d", phrase.Count(int(taken), "event"), total)
	return nil
}
