package rewind

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// DryRun says what a command would do to a session with that whole log, and was created with that state
// (session.Session.Initial). Its error is that of the command.
func DryRun(initial map[string]any, log []*session.Event, c session.Command) (*Plan, error) {
	was := whole(log)
	to, err := was.target(c)
	if err != nil {
		return nil, err
	}
	now, then := standing(log), standing(log[:to])
	p := &Plan{To: to, Position: was.position}
	p.events(log, now, then)
	p.Turns = len(was.turns()) - len((&past{events: left(was.events, then)}).turns())
	p.state(session.State(initial, log), session.State(initial, log[:to]))
	p.calls(session.Calls(was.events), session.Calls(whole(log[:to]).events), then)
	return p, nil
}

// standing returns the fates of the events of a log that no rewind has voided, by position.
func standing(log []*session.Event) map[int64]session.Status {
	var fates session.Statuses
	for _, e := range log {
		fates.Add(e)
	}
	list := map[int64]session.Status{}
	for _, e := range log {
		if fate := fates.Of(e); fate.Void == 0 {
			list[e.Seq] = fate
		}
	}
	return list
}

func left(events []*session.Event, then map[int64]session.Status) []*session.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e *session.Event) bool {
		_, stays := then[e.Seq]
		return !stays
	})
}

// events says what becomes of the events, given those that stand now and then.
func (p *Plan) events(log []*session.Event, now, then map[int64]session.Status) {
	shared, kept, lost := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range log {
		_, is := now[e.Seq]
		after, stays := then[e.Seq]
		if stays && after.Live && !now[e.Seq].Live && !e.Marker() {
			p.Back = append(p.Back, e.Seq)
		}
		if stays {
			kept[e.InvocationID] = true
		}
		if stays || !is {
			continue
		}
		if e.Marker() {
			if e.Actions.Rewind != nil {
				p.Rewinds = append(p.Rewinds, e.Seq)
			} else {
				p.Summaries = append(p.Summaries, e.Seq)
			}
		} else {
			p.Void = append(p.Void, e.Seq)
			if !lost[e.InvocationID] {
				lost[e.InvocationID], p.Invocations = true, append(p.Invocations, e.InvocationID)
			}
		}
		for key := range e.Actions.StateDelta {
			shared[key] = true
		}
		for key := range e.Actions.StateIncrement {
			shared[key] = true
		}
		for name, version := range e.Actions.ArtifactDelta {
			if p.Artifacts == nil {
				p.Artifacts = map[string][]int64{}
			}
			p.Artifacts[name] = append(p.Artifacts[name], version)
		}
	}
	maps.DeleteFunc(shared, func(key string, _ bool) bool {
		return !strings.HasPrefix(key, session.AppPrefix) && !strings.HasPrefix(key, session.UserPrefix)
	})
	p.Shared = slices.Sorted(maps.Keys(shared))
	if len(p.Invocations) > 0 && kept[p.Invocations[0]] {
		p.Cut = p.Invocations[0]
	}
}

func (p *Plan) state(now, then map[string]any) {
	all := maps.Clone(now)
	maps.Copy(all, then)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !reflect.DeepEqual(now[key], then[key]) {
			p.State = append(p.State, Change{key, now[key], then[key]})
		}
	}
}

// calls says what becomes of the function calls, given those of now and of then.
func (p *Plan) calls(now, then []session.Call, stay map[int64]session.Status) {
	was := map[*genai.FunctionCall]session.Call{}
	for _, c := range now {
		was[c.FunctionCall] = c
		if _, stays := stay[c.Event.Seq]; stays {
			continue
		}
		if c.Waits() {
			p.Dropped = append(p.Dropped, callOf(c))
		}
		if made(c) {
			p.Calls = append(p.Calls, callOf(c))
		}
	}
	for _, c := range then {
		before, is := was[c.FunctionCall]
		switch {
		case c.Response != nil || is && before.Response == nil && before.Waits() == c.Waits():
		case c.Waits():
			p.Waiting = append(p.Waiting, callOf(c))
		default:
			p.Interrupted = append(p.Interrupted, callOf(c))
		}
	}
}

// made reports whether a call was executed, as far as the log tells.
func made(c session.Call) bool {
	switch {
	case c.Response != nil && strings.HasPrefix(c.Response.Author, session.PluginPrefix):
		return false
	case c.Held != nil && !c.Approved():
		return false
	}
	return true
}
