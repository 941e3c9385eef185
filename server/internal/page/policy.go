package page

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/page/timeline"
	"github.com/plughook/plughook/server/internal/page/visible"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// What is looked at to count decisions: the sessions of the last days, the one that was updated last first.
const (
	countedDays     = 7
	countedSessions = 300
	countedEvents   = 30_000
)

// A policyView is the page of the rules, the limits and the plugins.
type policyView struct {
	App      string
	Apps     []*apps.App
	Policies []policyLine
	Days     []string
	Stages   []string
	Stage    string
	Text     string
	Trials   []trial
	Rule     string // whose decisions are listed
	Day      string
	Found    []decision
	Counted  int // sessions
	More     bool
	Budgets  []userBudget
	Plugins  []*plugin.Plugin
	Warnings []string
}

type policyLine struct {
	Plugin string
	*plugin.Policy
	Rules []ruleLine
}

type ruleLine struct {
	plugin.Rule
	Kind  string
	Cells []cell
}

// A cell is how often a rule has decided on a day.
type cell struct {
	N    int
	Link string
}

// A decision is one of a rule, on an event.
type decision struct {
	Key    session.Key
	Seq    int64
	Time   time.Time
	Record timeline.Record
	day    string
}

// A trial is what a policy would make of a text.
type trial struct {
	plugin.Trial
	Plugin string
	Kind   string
	Pieces []visible.Piece
}

type userBudget struct {
	User string
	budgetLine
}

// policy shows the policies that are in force, what they decided, and what they would make of a text.
func (x *page) policy(q *request) (any, error) {
	v := &policyView{Apps: x.Reachable(q.Request), App: q.FormValue("app"), Rule: q.FormValue("rule"), Day: q.FormValue("day")}
	if !web.CallerOf(q.Request).Admin {
		return nil, web.NewProblem(http.StatusForbidden, "forbidden", "only an admin may see the rules")
	}
	if len(v.Apps) == 0 {
		return nil, web.NewProblem(http.StatusNotFound, "not_found", "you reach no app")
	}
	app, err := x.App(q.Request, cmp.Or(v.App, v.Apps[0].Name))
	if err != nil {
		return nil, err
	}
	v.App = app.Name
	v.Plugins = app.Runner.Plugins()
	v.Warnings = plugin.Warnings(v.Plugins...)
	today := now()
	for i := range countedDays {
		v.Days = append(v.Days, today.AddDate(0, 0, i+1-countedDays).Format(time.DateOnly))
	}
	decisions, err := x.decisions(q, app, v)
	if err != nil {
		return nil, err
	}
	v.Stage = q.FormValue("stage")
	v.Text = q.PostForm.Get("text")
	if seq := q.FormValue("seq"); seq != "" {
		if v.Text, v.Stage, err = x.textOf(q, app, numberOf(seq)); err != nil {
			return nil, err
		}
	}
	for _, p := range v.Plugins {
		if p.About == nil || p.About().Policy == nil {
			continue
		}
		in := p.About().Policy
		v.Stages = in.Stages
		v.Policies = append(v.Policies, policyOf(p.Name, in, v, decisions))
		if v.Text != "" && slices.Contains(in.Stages, v.Stage) {
			v.Trials = append(v.Trials, trialOf(p.Name, in, v.Stage, v.Text))
		}
	}
	for _, d := range decisions {
		if d.Record.Rule == v.Rule && d.day == v.Day && len(v.Found) < 200 {
			v.Found = append(v.Found, d)
		}
	}
	return &view{Template: "policy", Title: "Policy", Nav: "policy", Narrow: true, Data: v}, nil
}

func policyOf(name string, p *plugin.Policy, v *policyView, decisions []decision) policyLine {
	l := policyLine{Plugin: name, Policy: p}
	for _, r := range p.Rules {
		rule := ruleLine{Rule: r, Kind: timeline.Record{Action: r.Action}.Kind()}
		for _, day := range v.Days {
			c := cell{Link: "/policy?" + params("app", v.App, "rule", r.ID, "day", day) + "#found"}
			for _, d := range decisions {
				if d.Record.Rule == r.ID && d.day == day {
					c.N++
				}
			}
			rule.Cells = append(rule.Cells, c)
		}
		l.Rules = append(l.Rules, rule)
	}
	return l
}

// trialOf judges a text, and shows the parts that were found.
func trialOf(name string, p *plugin.Policy, stage, text string) trial {
	t := trial{Trial: p.Try(stage, text), Plugin: name}
	t.Kind = timeline.Record{Action: t.Action}.Kind()
	at := 0
	for _, f := range t.Findings {
		if f.Start < at || f.End > len(text) {
			continue
		}
		before, _ := visible.Pieces(text[at:f.Start], 4000)
		t.Pieces = append(t.Pieces, before...)
		t.Pieces = append(t.Pieces, visible.Piece{Text: strings.ToValidUTF8(text[f.Start:f.End], "?"), Kind: "ins"})
		at = f.End
	}
	rest, _ := visible.Pieces(text[at:], 4000)
	t.Pieces = append(t.Pieces, rest...)
	return t
}

// textOf returns what a stored event says, and the stage at which a policy judges it.
func (x *page) textOf(q *request, app *apps.App, seq int64) (text, stage string, err error) {
	key, err := x.Key(q.Request, app, q.FormValue("user"), q.FormValue("session"), false)
	if err != nil {
		return "", "", err
	}
	for e, err := range app.Sessions().Read(q.Context(), key, session.Selection{After: seq - 1}) {
		if err != nil {
			return "", "", err
		}
		switch {
		case len(e.FunctionCalls()) > 0:
			return eventtext.Object(e.FunctionCalls()[0].Args), "tool_args", nil
		case len(e.FunctionResponses()) > 0:
			return eventtext.Object(e.FunctionResponses()[0].Response), "tool_result", nil
		case e.Author == session.User:
			return e.Text(), "input", nil
		}
		return e.Text(), "output", nil
	}
	return "", "", nil
}

// decisions reads what rules decided in the last days, and what of the limits of the users is used.
func (x *page) decisions(q *request, app *apps.App, v *policyView) (list []decision, err error) {
	query := session.Query{App: app.Name, Since: sinceOf("7d", false)}
	events := int64(0)
	users := map[string]bool{}
	for hit, err := range app.Sessions().Search(q.Context(), query) {
		if err != nil {
			return nil, err
		}
		if v.Counted == countedSessions || events > countedEvents {
			v.More = true
			break
		}
		key := hit.Session.Key
		if !users[key.User] && len(users) < 20 {
			users[key.User] = true
			if s, err := app.Sessions().Get(q.Context(), key); err == nil {
				for _, b := range budgetsOf(app, s.State) {
					v.Budgets = append(v.Budgets, userBudget{User: key.User, budgetLine: b})
				}
			}
		}
		v.Counted++
		events += hit.Session.Position
		sel := session.Selection{Last: 5000}
		for e, err := range web.HoldOf(q.Context()).Paced(q.Context(), app.Sessions().Read(q.Context(), key, sel)) {
			if err != nil {
				return nil, err
			}
			for _, r := range timeline.RecordsOf(e).Records {
				list = append(list, decision{Key: key, Seq: e.Seq, Time: e.Timestamp, Record: r, day: e.Timestamp.Local().Format(time.DateOnly)})
			}
		}
	}
	slices.SortStableFunc(v.Budgets, func(a, b userBudget) int { return b.Share - a.Share })
	return list, nil
}
