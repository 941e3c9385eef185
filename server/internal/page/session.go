package page

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/internal/words"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/server/internal/page/timeline"
	"github.com/plughook/plughook/server/internal/page/visible"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

const (
	pageEvents = 200  // how many events of a log a page shows
	wholeLog   = 2000 // up to how many events a log is read whole, so that sums can be told
)

// A sessionView is the page of one session.
type sessionView struct {
	*session.Session
	Path    string
	Heading []visible.Piece
	Tags    []timeline.Tag
	Facts   []string
	Turns   []*timeline.Turn
	Filters []filter
	Match   string
	Show    string
	Older   string
	Newest  string // the address of the log's end, if the page does not show it
	First   int64
	End     int64
	Waiting []waitingCall
	Whole   bool
	Sums    timeline.Sums
	// What the model reads.
	Live, LiveTokens, RawTokens int
	Graphs                      []*drawing
	Values                      []keyValue
	Plugins                     []pluginLine
	HooksKept, Rewound          bool
	Budgets                     []budgetLine
	Files                       []string
	actions
}

// actions are what can be done from a page of a session.
type actions struct {
	CanRewind, CanCompact, HasPolicy bool
	Query                            string // names the session on the page of the policy
}

func actionsOf(q *request) actions {
	return actions{
		CanRewind:  q.app.Command(plugin.Rewind) != nil,
		CanCompact: q.app.Command(plugin.Compact) != nil,
		HasPolicy: slices.ContainsFunc(q.app.Runner.Plugins(), func(p *plugin.Plugin) bool {
			return p.About != nil && p.About().Policy != nil
		}),
		Query: params("app", q.key.App, "user", q.key.User, "session", q.key.ID),
	}
}

type keyValue struct {
	Key   string
	Value []visible.Piece
}

// A pluginLine sums up the calls of a plugin that were kept.
type pluginLine struct {
	Place         int // in list order
	Name          string
	Calls, Failed int
	Median, Most  time.Duration
}

// part is what is read of a log for a page.
type part struct {
	events   []*session.Event
	all      []*session.Event // the whole log, nil if it is too long
	statuses session.EventStatuses
	older    bool // there is more before it
	newer    bool
}

// A choice says which events of a log are wanted.
type choice struct {
	show, match string
	before      int64 // only those before this position, 0 for all
}

// wants reports whether an event is chosen.
func (c choice) wants(e *session.Event) bool {
	if c.match != "" {
		has := map[string]struct{}{}
		words.Add(has, strings.Join(eventtext.Lines(e), " "))
		for _, word := range words.Wanted(c.match) {
			if _, ok := has[word]; !ok {
				return false
			}
		}
	}
	switch c.show {
	case "decisions":
		notes := plugin.NotesOf(e)
		_, plug := e.Plugin()
		changed := slices.ContainsFunc(notes.Changed, func(n plugin.Note) bool { return !timeline.Counts(n) })
		return plug || changed || notes.Input != nil || len(notes.Unchecked) > 0 || e.ErrorCode == session.Denied ||
			len(e.Actions.RequestedToolConfirmations) > 0 || len(timeline.RecordsOf(e).Records) > 0
	case "tools":
		return len(e.FunctionCalls())+len(e.FunctionResponses()) > 0
	case "failed":
		failed := e.Interrupted || e.ErrorCode != "" && e.ErrorCode != session.Denied
		for _, r := range e.FunctionResponses() {
			failed = failed || r.Response["error"] != nil && e.ErrorCode != session.Denied
		}
		return failed
	}
	return true
}

// read reads the part of a log that a page is about: the last events before a position, of those that are chosen.
func (x *page) read(q *request, s *session.Session, c choice) (*part, error) {
	p := &part{}
	sessions := q.app.Sessions()
	end := c.before
	if end <= 0 || end > s.Position+1 {
		end = s.Position + 1
	}

	// A short log is read whole.
	if s.Position <= wholeLog {
		all, err := x.ReadAll(q.Context(), q.app, q.key, session.Selection{})
		if err != nil {
			return nil, err
		}
		p.all = all
		for _, e := range all {
			p.statuses.Add(e)
			switch {
			case e.Seq >= end:
				p.newer = true
			case c.wants(e):
				p.events = append(p.events, e)
			}
		}
		if c.show == "live" {
			p.events = slices.DeleteFunc(p.events, func(e *session.Event) bool { return !p.statuses.Of(e).Live })
		}
		if n := len(p.events) - pageEvents; n > 0 {
			p.events = p.events[n:]
			p.older = true
		}
		return p, nil
	}

	// Of a long one, only what is shown, and the compactions and rewinds behind it, which say what has become of it.
	sel := session.Selection{After: max(0, end-1-pageEvents)}
	p.older = sel.After > 0
	chosen := c.show != "" || c.match != ""
	if chosen {
		sel = session.Selection{Live: c.show == "live"}
		p.older = false
	}
	hold := web.HoldOf(q.Context())
	for e, err := range hold.Paced(q.Context(), sessions.Read(q.Context(), q.key, sel)) {
		if err != nil {
			return nil, err
		}
		if e.Seq >= end {
			p.newer = true
		}
		if e.Seq >= end && s.Frontier < end && !sel.Live {
			break // nothing behind it changes what has become of it
		}
		p.statuses.Add(e)
		if e.Seq >= end || !c.wants(e) {
			continue
		}
		if err := hold.TakeJSON(limits.Weight(e)); err != nil {
			return nil, err
		}
		p.events = append(p.events, e)
		if len(p.events) > pageEvents {
			hold.AddJSON(-limits.Weight(p.events[0]))
			p.events = slices.Clone(p.events[1:])
			p.older = true
		}
	}
	return p, nil
}

// hooksOf returns the hook calls that were kept of a session.
func (x *page) hooksOf(q *request) []session.HookRecord {
	if x.Hooks == nil {
		return nil
	}
	list, err := x.Hooks(q.Context(), q.key)
	if err != nil {
		x.Noted(q.Request, err) // the page is shown without them
	}
	return list
}

// turns tells a part of a log.
func (x *page) turns(q *request, p *part, hooks []session.HookRecord) []*timeline.Turn {
	keeps := map[int64]bool{}
	for _, e := range p.events {
		if c := e.Actions.Compaction; c != nil && p.statuses.Of(e).Live {
			for _, seq := range c.Keep {
				keeps[seq] = true
			}
		}
	}
	return timeline.New(timeline.Log{
		Key:    q.key,
		Events: p.events,
		Status: p.statuses.Of,
		Kept:   keeps,
		Hooks:  hooks,
		Prices: x.Prices,
	})
}

// session shows a session's log.
func (x *page) session(q *request) (any, error) {
	s, err := q.app.Sessions().Get(q.Context(), q.key)
	if err != nil {
		return nil, err
	}
	params := q.URL.Query()
	c := choice{show: params.Get("show"), match: params.Get("match"), before: numberOf(params.Get("before"))}
	open := numberOf(params.Get("open"))
	if open > 0 && c.before == 0 && s.Position-open >= pageEvents {
		c.before = open + pageEvents/2
	}
	p, err := x.read(q, s, c)
	if err != nil {
		return nil, err
	}
	hooks := x.hooksOf(q)
	v := &sessionView{
		Session:   s,
		Path:      pathOf("/s", q.key),
		Turns:     x.turns(q, p, hooks),
		Match:     c.match,
		Show:      c.show,
		Whole:     p.all != nil,
		HooksKept: len(hooks) > 0,
		actions:   actionsOf(q),
	}
	if len(p.events) > 0 {
		v.First = p.events[0].Seq
		v.End = p.events[len(p.events)-1].Seq
	}
	if p.older {
		v.Older = with(q.URL, "before", strconv.FormatInt(v.First, 10), "open", "")
	}
	if p.newer {
		v.Newest = with(q.URL, "before", "", "open", "")
	}
	for _, t := range v.Turns {
		for _, r := range t.Rows {
			r.Open = r.Class == "wait" && r.Status.Live && r.Last == s.Position || open > 0 && r.Seq <= open && open <= r.Last
			t.Open = t.Open || r.Open
		}
	}
	if err := x.sumUp(q, v, p, hooks); err != nil {
		return nil, err
	}
	for _, f := range [][2]string{{"", "All"}, {"live", "Counts now"}, {"decisions", "Decisions"}, {"tools", "Tools"}, {"failed", "Failed"}} {
		choose := filter{Word: f[1], Link: with(q.URL, "show", f[0], "before", "", "open", ""), Current: c.show == f[0], Count: -1}
		if v.Whole {
			choose.Count = v.count(p, choice{show: f[0]})
		}
		v.Filters = append(v.Filters, choose)
	}
	title := "Session"
	for _, piece := range v.Heading {
		title = piece.Text
		break
	}
	return &view{Template: "session", Title: title, Nav: "sessions", Follow: followed(q.key), Data: v}, nil
}

// count returns how many events a choice leaves.
func (v *sessionView) count(p *part, c choice) (n int) {
	for _, e := range p.all {
		if c.wants(e) && (c.show != "live" || p.statuses.Of(e).Live) {
			n++
		}
	}
	return n
}

// sumUp adds what is told beside the rows.
func (x *page) sumUp(q *request, v *sessionView, p *part, hooks []session.HookRecord) error {
	sum, _, err := x.summaryOf(q.Context(), q.app, v.Session)
	if err != nil {
		return err
	}
	title, _ := v.State["title"].(string)
	first, _, _ := strings.Cut(sum.message, "\n")
	v.Heading = visible.Line(cmp.Or(title, first, "Session "+v.ID), 120)
	if v.Holder != "" {
		v.Tags = append(v.Tags, timeline.Tag{Kind: "plain", Word: "running"})
	}
	v.Tags = append(v.Tags, sum.tags(v.CutOff)...)
	v.Rewound = sum.rewound
	live, err := x.liveOf(q, p)
	if err != nil {
		return err
	}
	v.Graphs = graphsOf(q.app.Runner.Agent(), live)
	v.Waiting = waitingCalls(q.Context(), q.key, live)
	for i := range v.Waiting {
		v.Waiting[i].Back = v.Path
	}
	v.Live = len(live)
	v.LiveTokens = tokensOf(live)
	v.Facts = append(v.Facts, countText(int(v.Position), "event"))
	if p.all != nil {
		behind := 0
		void := 0
		var raw []*session.Event
		invocations := map[string]bool{}
		for _, e := range p.all {
			v.Sums.Add(e, x.Prices)
			invocations[e.InvocationID] = true
			switch status := p.statuses.Of(e); {
			case status.Void != 0:
				void++
				continue
			case status.Behind != 0:
				behind++
			}
			if !e.Marker() {
				raw = append(raw, e)
			}
		}
		v.RawTokens = tokensOf(raw)
		v.Facts = append(v.Facts, strconv.Itoa(v.Live)+" live")
		if behind > 0 {
			v.Facts = append(v.Facts, strconv.Itoa(behind)+" behind a summary")
		}
		if void > 0 {
			v.Facts = append(v.Facts, strconv.Itoa(void)+" void")
		}
		v.Facts = append(v.Facts, countText(len(invocations), "turn"))
	} else {
		v.Facts = append(v.Facts, "too long to sum up here")
	}
	v.Budgets = budgetsOf(q.app, v.State)
	for _, key := range slices.Sorted(maps.Keys(v.State)) {
		if len(v.Values) == 100 {
			v.Values = append(v.Values, keyValue{Key: "…", Value: []visible.Piece{{Text: "more keys than are shown"}}})
			break
		}
		v.Values = append(v.Values, keyValue{Key: key, Value: visible.Line(eventtext.JSON(v.State[key]), 160)})
	}
	v.Plugins = pluginLines(q.app.Runner.Plugins(), hooks)
	if q.app.Artifacts != nil {
		if v.Files, err = q.app.Artifacts.List(q.Context(), q.key); err != nil {
			return err
		}
	}
	return nil
}

// liveOf returns the live view: of a long log only the part that the page has read. So a call that waits since long before
// the log's end is on the page Waiting alone.
func (x *page) liveOf(q *request, p *part) ([]*session.Event, error) {
	if p.all != nil {
		return x.Live(q.Context(), q.app, q.key)
	}
	if p.newer {
		return nil, nil
	}
	return slices.DeleteFunc(slices.Clone(p.events), func(e *session.Event) bool { return !p.statuses.Of(e).Live }), nil
}

// tokensOf estimates how many tokens a model counts: a quarter of the characters that it is shown.
func tokensOf(events []*session.Event) int {
	n := 0
	for _, e := range events {
		content := e.Content
		if c := e.Actions.Compaction; c != nil && e.Marker() {
			content = c.Content
		}
		if content == nil {
			continue
		}
		for _, p := range content.Parts {
			switch {
			case p == nil || p.Thought:
			case p.FunctionCall != nil:
				n += len(p.FunctionCall.Name) + len(eventtext.Object(p.FunctionCall.Args))
			case p.FunctionResponse != nil:
				n += len(eventtext.Object(p.FunctionResponse.Response))
			default:
				n += utf8.RuneCountInString(p.Text)
			}
		}
	}
	return (n + 3) / 4
}

// pluginLines sums up the hook calls of each plugin, in list order.
func pluginLines(plugins []*plugin.Plugin, hooks []session.HookRecord) (list []pluginLine) {
	took := map[string][]time.Duration{}
	failed := map[string]int{}
	for _, h := range hooks {
		took[h.Plugin] = append(took[h.Plugin], h.Took())
		if h.Error != "" {
			failed[h.Plugin]++
		}
	}
	for i, p := range plugins {
		l := pluginLine{Place: i + 1, Name: p.Name, Calls: len(took[p.Name]), Failed: failed[p.Name]}
		if times := took[p.Name]; len(times) > 0 {
			slices.Sort(times)
			l.Median = times[len(times)/2]
			l.Most = times[len(times)-1]
		}
		list = append(list, l)
	}
	return list
}

// numberOf reads a position; 0 if it is none.
func numberOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// event answers with one event: as a page with its row, or, with .json behind the position, as the log has it.
func (x *page) event(q *request) (any, error) {
	text, isJSON := strings.CutSuffix(q.PathValue("event"), ".json")
	text, withheld := strings.CutPrefix(text, "w") // the message in whose place the event is
	seq := numberOf(text)
	s, err := q.app.Sessions().Get(q.Context(), q.key)
	if err != nil {
		return nil, err
	}
	if seq == 0 || seq > s.Position {
		return nil, web.NewProblem(http.StatusNotFound, "not_found", "the session has no such event")
	}
	p, err := x.read(q, s, choice{before: seq + 3})
	if err != nil {
		return nil, err
	}
	if isJSON {
		for _, e := range p.events {
			if e.Seq == seq {
				data, err := e.MarshalJSON()
				if err != nil {
					return nil, err
				}
				header(q.w, "application/json")
				_, _ = q.w.Write(data) // a client that has left is told nothing
				return nil, nil
			}
		}
	}
	for _, t := range x.turns(q, p, x.hooksOf(q)) {
		for _, r := range t.Rows {
			if withheld && r.Instead == seq || !withheld && r.Seq <= seq && seq <= r.Last {
				r.Open = true
				for _, tag := range t.Tags {
					if tag.Kind == "plain" { // what has become of the whole turn
						r.Tags = append(r.Tags, tag)
					}
				}
				return &view{
					Template: "event",
					Title:    "Event " + strconv.FormatInt(seq, 10),
					Nav:      "sessions",
					Data:     map[string]any{"Row": r, "Path": pathOf("/s", q.key), "Key": q.key, "View": &sessionView{actions: actionsOf(q)}},
				}, nil
			}
		}
	}
	return nil, web.NewProblem(http.StatusNotFound, "not_found", "the session has no such event")
}
