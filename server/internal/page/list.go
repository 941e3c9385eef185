package page

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/page/timeline"
	"github.com/plughook/plughook/server/internal/page/visible"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// listed is how many sessions a page lists.
const listed = 30

// summed is how many events of a session are summed up for the list; those of a longer session are not.
const summed = 2000

// A listView is the page of the sessions.
type listView struct {
	Lines         []line
	Apps          []*apps.App
	App, Match    string
	User, Since   string
	Show, Kit     string
	Order         string
	Filters       []filter
	Older         string // the address of the next page
	First         bool   // there is no session at all
	Admin         bool
	SearchProblem string
}

// A filter is a choice, which is a link.
type filter struct {
	Word, Link string
	Current    bool
	Count      int // -1 if it is not known
	More       bool
}

// A line is a session in the list.
type line struct {
	*session.Session
	Title   []visible.Piece
	Last    []visible.Piece
	Tags    []timeline.Tag
	Kit     string // whose agent runs it: an agent outside, "" for one of this server
	Running bool
	Hit     []visible.Piece // the event that was found
	HitSeq  int64
	summary
	Known bool
}

// A summary is what the list says of a session's log.
type summary struct {
	timeline.Sums
	position        int64
	message         string // the first one of the user
	withheld        bool   // the first one is not in the log
	last            string
	denied          int
	changed         time.Time // when a plugin changed content last
	failed, rewound bool
	confirms, asks  int
}

// sumCache has the summaries of sessions, by store and number, so that a list costs what is new.
type sumCache struct {
	mu sync.Mutex
	of map[sumKey]summary
}

type sumKey struct {
	app    string
	number int64
}

// kept is how many summaries are kept.
const kept = 4096

func (c *sumCache) get(k sumKey) (summary, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.of[k]
	return s, ok
}

func (c *sumCache) set(k sumKey, s summary) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= kept {
		c.of = map[sumKey]summary{}
	}
	c.of[k] = s
}

// list lists sessions, the one that was updated last first.
func (x *page) list(q *request) (any, error) {
	who := web.CallerOf(q.Request)
	params := q.URL.Query()
	v := &listView{
		App:   params.Get("app"),
		Match: params.Get("match"),
		User:  params.Get("user"),
		Since: params.Get("since"),
		Show:  params.Get("show"),
		Kit:   params.Get("kit"),
		Order: params.Get("order"),
		Admin: who.Admin || who.AnyUser || len(who.OnBehalfOf) > 0,
		Apps:  x.Reachable(q.Request),
	}
	query := session.Query{
		User:    v.User,
		Match:   v.Match,
		Waiting: v.Show == "waiting",
		Denied:  v.Show == "denied",
		Error:   v.Show == "failed",
		CutOff:  v.Show == "cutoff",
		Since:   sinceOf(v.Since, v.Show == "running"),
	}
	if v.Order != "cost" {
		v.Order = ""
	}
	var err error
	if !who.Admin || query.User != "" {
		user, err := x.User(q.Request, v.User)
		if err != nil {
			return nil, err
		}
		query.User = user
	}
	if v.Show == "changed" {
		query.Since = sinceOf("today", false)
	}
	if query.Match != "" && query.Check() != nil {
		query.Match = ""
		v.SearchProblem = "There is no word in it to search for."
	}
	if v.Filters, err = x.filters(q, v, query); err != nil {
		return nil, err
	}
	after := parsePosition(params.Get("after"))
	looked := 0
	for {
		hits, err := x.hits(q, v.App, query, after)
		if err != nil {
			return nil, err
		}
		for _, hit := range hits[:min(listed, len(hits))] {
			after = position{hit.Session.Updated, hit.Session.Key.String()}
			looked++
			l, err := x.lineOf(q, hit)
			if errors.Is(err, session.ErrNotFound) { // it was deleted meanwhile
				continue
			}
			if err != nil {
				return nil, err
			}
			if v.wants(l) {
				v.Lines = append(v.Lines, *l)
			}
			if v.Order == "" && len(v.Lines) == listed {
				break
			}
		}

		// What the store cannot select, or order, is looked for in more than one page of it.
		full := v.Order == "" && len(v.Lines) == listed
		if len(hits) > listed && !full && looked < countedSessions {
			continue
		}
		if len(hits) > listed || full && len(hits) > 0 && after.before(hits[len(hits)-1].Session) {
			v.Older = with(q.URL, "after", after.String())
		}
		break
	}
	if v.Order == "cost" {
		cost := func(l line) float64 {
			if !l.Known || l.Unpriced {
				return -1
			}
			return l.Cost
		}
		slices.SortStableFunc(v.Lines, func(a, b line) int { return cmp.Compare(cost(b), cost(a)) })
	}
	v.First = len(v.Lines) == 0 && q.URL.RawQuery == ""
	return &view{Template: "sessions", Title: "Sessions", Nav: "sessions", Data: v}, nil
}

// wants reports whether a session is one of those that are listed, as far as the store cannot tell.
func (v *listView) wants(l *line) bool {
	switch {
	case v.Kit != "" && l.Kit != v.Kit, v.Show == "running" && !l.Running:
		return false
	}
	return v.Show != "changed" || !l.changed.Before(sinceOf("today", false))
}

// filters are the choices above the list. Those that the store finds say how many sessions they leave, up to a limit.
func (x *page) filters(q *request, v *listView, query session.Query) (list []filter, err error) {
	const most = 100
	query.Limit = most
	for _, f := range []struct {
		show, word string
		is         func(*session.Query)
	}{
		{"", "All", func(*session.Query) {}},
		{"running", "Running", nil},
		{"waiting", "Waiting", func(s *session.Query) { s.Waiting = true }},
		{"denied", "Denied", func(s *session.Query) { s.Denied = true }},
		{"changed", "Changed today", nil},
		{"cutoff", "Cut off", func(s *session.Query) { s.CutOff = true }},
		{"failed", "Failed", func(s *session.Query) { s.Error = true }},
	} {
		choice := filter{Word: f.word, Link: with(q.URL, "show", f.show, "after", ""), Current: v.Show == f.show, Count: -1}
		if f.is != nil && v.Kit == "" {
			counted := query
			counted.Waiting, counted.Denied, counted.CutOff, counted.Error = false, false, false, false
			counted.Since = sinceOf(v.Since, false)
			f.is(&counted)
			choice.Count = 0
			for _, app := range x.Reachable(q.Request) {
				if v.App != "" && app.Name != v.App {
					continue
				}
				counted.App = app.Name
				for _, err := range app.Sessions().Search(q.Context(), counted) {
					if err != nil {
						return nil, err
					}
					choice.Count++
				}
			}
			choice.More = choice.Count >= most
			choice.Count = min(choice.Count, most)
		}
		list = append(list, choice)
	}
	return list, nil
}

// sinceOf reads how long ago: today, or a number of days.
func sinceOf(text string, running bool) time.Time {
	year, month, day := now().Date()
	today := time.Date(year, month, day, 0, 0, 0, 0, time.Local)
	switch {
	case text == "today":
		return today
	case text == "7d":
		return today.AddDate(0, 0, -7)
	case running: // a run appends its input when it begins
		return now().Add(-time.Hour)
	}
	return time.Time{}
}

// hits returns the sessions of a query in the apps that the caller reaches, one more than a page has.
func (x *page) hits(q *request, named string, query session.Query, after position) (list []*session.Hit, err error) {
	if !after.updated.IsZero() {
		query.Until = after.updated.Truncate(time.Microsecond).Add(time.Microsecond)
		if !query.Since.Before(query.Until) {
			return nil, nil
		}
	}
	for _, app := range x.Reachable(q.Request) {
		if named != "" && app.Name != named {
			continue
		}
		query.App = app.Name
		n := 0
		for hit, err := range app.Sessions().Search(q.Context(), query) {
			if err != nil {
				return nil, err
			}
			if !after.before(hit.Session) {
				continue
			}
			list = append(list, hit)
			if n++; n > listed {
				break
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *session.Hit) int { return b.Session.Updated.Compare(a.Session.Updated) })
	return list[:min(len(list), listed+1)], nil
}

// lineOf returns what the list says of a session.
func (x *page) lineOf(q *request, hit *session.Hit) (*line, error) {
	app, err := x.App(q.Request, hit.Session.App)
	if err != nil {
		return nil, err
	}
	s, err := app.Sessions().Get(q.Context(), hit.Session.Key)
	if err != nil {
		return nil, err
	}
	l := &line{Session: s, Kit: runner.AgentOutside(s.State), Running: s.Holder != ""}
	l.summary, l.Known, err = x.summaryOf(q.Context(), app, s)
	if err != nil {
		return nil, err
	}
	title, _ := s.State["title"].(string)
	first, _, _ := strings.Cut(l.message, "\n")
	switch text := cmp.Or(title, first); {
	case text != "":
		l.Title = visible.Line(text, 160)
	case l.withheld:
		l.Title = []visible.Piece{{Text: "first message withheld", Kind: "gone"}}
	default:
		l.Title = []visible.Piece{{Text: "no message", Kind: "gone"}}
	}
	l.Last = visible.Line(l.last, 60)
	if hit.Event != nil {
		l.Hit = visible.Line(strings.Join(eventtext.Lines(hit.Event), " · "), 140)
		l.HitSeq = hit.Event.Seq
	}
	l.Tags = l.tags(s.CutOff)
	return l, nil
}

func (s *summary) tags(cutOff string) (list []timeline.Tag) {
	add := func(is bool, kind, word string) {
		if is {
			list = append(list, timeline.Tag{Kind: kind, Word: word})
		}
	}
	add(s.confirms > 0, "wait", "waits for a yes")
	add(s.asks > 0, "wait", "waits for an answer")
	add(cutOff != "", "error", "cut off")
	add(s.failed, "error", "failed")
	add(s.denied == 1, "deny", "denied")
	add(s.denied > 1, "deny", numberText(s.denied)+" denied")
	add(s.rewound, "plain", "rewound")
	return list
}

// summaryOf sums up a session's log, as far as it has more than when it was summed up last. ok is false for a log that is
// too long for a list: then only its last event and what waits is known.
func (x *page) summaryOf(ctx context.Context, app *apps.App, s *session.Session) (sum summary, ok bool, err error) {
	k := sumKey{app.Name, s.Number}
	sum, known := x.sums.get(k)
	if known && sum.position == s.Position {
		return sum, s.Position <= summed, nil
	}
	ok = s.Position <= summed
	sel := session.Selection{After: sum.position}
	if !ok {
		sel.Last = 1
	}
	if !ok && !known { // what it is about stands at its beginning
		for e, err := range app.Sessions().Read(ctx, s.Key, session.Selection{}) {
			if err != nil {
				return sum, false, err
			}
			sum.add(e, x, s.User)
			if sum.message != "" || e.Seq == 10 {
				break
			}
		}
	}
	for e, err := range web.HoldOf(ctx).Paced(ctx, app.Sessions().Read(ctx, s.Key, sel)) {
		if err != nil {
			return sum, false, err
		}
		sum.add(e, x, s.User)
	}
	sum.position = s.Position
	sum.confirms = 0
	sum.asks = 0
	if ok {
		live, err := x.Live(ctx, app, s.Key)
		if err != nil {
			return sum, false, err
		}
		for _, c := range sessions.WaitingIn(live) {
			if c.Confirm {
				sum.confirms++
			} else {
				sum.asks++
			}
		}
	}
	x.sums.set(k, sum)
	return sum, ok, nil
}

// add takes in the next event.
func (s *summary) add(e *session.Event, x *page, user string) {
	s.Add(e, x.Prices)
	if e.Seq == 1 {
		s.withheld = plugin.NotesOf(e).Input != nil
	}
	if s.message == "" && e.Author == session.User {
		text := e.Text()
		s.message = text[:min(len(text), 2000)]
	}
	if e.ErrorCode == session.Denied {
		s.denied++
	} else if e.ErrorCode != "" && e.ErrorCode != session.Cancelled {
		s.failed = true
	}
	if slices.ContainsFunc(plugin.NotesOf(e).Changed, func(n plugin.Note) bool { return !timeline.Counts(n) }) {
		s.changed = e.Timestamp
	}
	s.rewound = s.rewound || e.Actions.Rewind != nil
	what := strings.Join(eventtext.Lines(e), " · ")
	s.last = timeline.WhoOf(e, user) + ": " + what[:min(len(what), 400)]
}

// A position is one in the list: behind a session, which was updated then.
type position struct {
	updated time.Time
	key     string
}

func (p position) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.updated.UTC().Format(time.RFC3339Nano) + " " + p.key))
}

// parsePosition reads a position; what is none is the beginning.
func parsePosition(text string) (p position) {
	data, _ := base64.RawURLEncoding.DecodeString(text)
	updated, key, _ := strings.Cut(string(data), " ")
	t, err := time.Parse(time.RFC3339Nano, updated)
	if err != nil || session.CheckTime(t) != nil {
		return p
	}
	return position{t, key}
}

// before reports whether a session comes behind the position.
func (p position) before(s *session.Session) bool {
	return p.updated.IsZero() || s.Updated.Before(p.updated) || s.Updated.Equal(p.updated) && s.Key.String() > p.key
}
