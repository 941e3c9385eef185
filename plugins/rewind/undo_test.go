package rewind_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
)

func TestUndo(t *testing.T) {
	for name, tc := range map[string]struct {
		say  []string // "-" takes a turn back
		undo int
		want string // what counts afterwards
	}{
		"a rewind":                  {[]string{"a", "b", "-"}, 1, "a b n=2"},
		"an undo":                   {[]string{"a", "b", "-"}, 2, "a n=1"},
		"and again":                 {[]string{"a", "b", "-"}, 3, "a b n=2"},
		"with what was said since":  {[]string{"a", "b", "-", "c", "d"}, 1, "a b n=2"},
		"the last of two":           {[]string{"a", "b", "-", "c", "-"}, 1, "a c n=2"},
		"no rewind":                 {[]string{"a", "b"}, 1, "rewind: there is no rewind to undo"},
		"after a summary":           {[]string{"a", "b", "c", "compact 2", "-"}, 1, "summary b c n=3"},
		"one to before a summary":   {[]string{"a", "b", "compact 2", "to 2"}, 1, "summary b n=2"},
		"a summary, and no rewind":  {[]string{"a", "b", "compact 2"}, 1, "rewind: there is no rewind to undo"},
		"with the summary after it": {[]string{"a", "b", "c", "-", "compact 2"}, 1, "a b c n=3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t)
			for _, text := range tc.say {
				var to int64
				if text == "-" {
					_, wrong := s.do(rewind.Turns(1))
					require.Empty(t, wrong)
				} else if n, _ := fmt.Sscanf(text, "to %d", &to); n == 1 {
					_, wrong := s.do(rewind.To(to))
					require.Empty(t, wrong)
				} else {
					s.say(text)
				}
			}
			got := ""
			for range tc.undo {
				if _, got = s.do(rewind.Undo()); got == "" {
					got = s.live()
				}
			}
			require.Contains(t, got, tc.want)
		})
	}
}

// The log has what a summary stands for, and the originals come back.
func TestBehindASummary(t *testing.T) {
	for name, tc := range map[string]struct {
		say  []string
		do   session.Command
		want string
	}{
		"before what is covered":         {[]string{"a", "b", "c", "compact 4"}, rewind.Before("b"), "a n=1"},
		"before what is covered in part": {[]string{"a", "b", "c", "compact 3"}, rewind.Before("b"), "a n=1"},
		"before what is covered twice":   {[]string{"a", "b", "compact 2", "c", "compact 6", "d"}, rewind.Before("c"), "summary b n=2"},
		"turns that are covered":         {[]string{"a", "b", "c", "compact 4"}, rewind.Turns(2), "a n=1"},
		"more turns than there are":      {[]string{"a", "b", "c", "compact 4"}, rewind.Turns(4), "rewind: only 3 turns can be undone"},
		"what is unknown":                {[]string{"a", "compact 1"}, rewind.Before("x"), `rewind: there is no invocation "x"; name one that counts`},
		"undo that is none":              {[]string{"a"}, session.Command{Name: "rewind", Args: map[string]any{"undo": false}}, "rewind: undo cannot be false; the command takes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t).say(tc.say...)
			_, got := s.do(tc.do)
			if got == "" {
				got = s.live()
			}
			require.Contains(t, got, tc.want)
		})
	}
	s := stage(t).say("a", "b", "c")
	s.do(rewind.Before("b")) // 7
	s.say("d", "compact 2")
	_, wrong := s.do(rewind.Before("c"))
	require.Contains(t, wrong,
		`rewind: invocation "c" was taken back, by the rewind at position 7;`)
}

// A log that cannot be read is a failure of the plugin, and nothing is rewound.
func TestTheLogCannotBeRead(t *testing.T) {
	memory := memory.New()
	s := with(t, memory, rewind.New(&unreadable{Service: memory})).say("a", "b", "compact 2")
	before := s.live()
	_, err := s.run(rewind.Turns(2).Event())
	require.ErrorContains(t, err, "plugin rewind: OnEvent: no luck")
	require.Equal(t, before, s.live())
	_, wrong := s.do(rewind.To(2)) // which needs no log
	require.Empty(t, wrong)
	require.Equal(t, "a n=1", s.live())
}

type unreadable struct{ session.Service }

func (u *unreadable) Read(
	context.Context,
	session.Key,
	session.Selection,
) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) { yield(nil, errors.New("no luck")) }
}

// Whatever is said, summarized and taken back: a command does what its dry run says, and finds
// whatever counts.
func TestLawOfDryRuns(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rapid.Check(t, func(rt *rapid.T) {
		var sessions session.Service = memory.New()
		if rapid.IntRange(0, 4).Draw(rt, "database") == 0 {
			sessions = db
			_ = db.Delete(context.Background(), key) // of the history before
		}
		s := on(rt, sessions).say("first")
		for i := range rapid.IntRange(1, 14).Draw(rt, "steps") {
			log, live := s.read(false), s.read(true)
			position := int64(len(log))
			var c session.Command
			want := int64(-1)
			raw := uncompacted(log)
			switch rapid.SampledFrom([]string{"say", "say", "compact", "to", "turns", "before", "undo"}).Draw(rt, "step") {
			case "say":
				s.say(fmt.Sprint("text", i))
				continue
			case "compact":
				_, _ = s.run(session.Message(
					fmt.Sprint("compact ", rapid.Int64Range(1, position).Draw(rt, "through")),
				)) // or it is refused
				continue
			case "to":
				want = rapid.Int64Range(0, position-1).Draw(rt, "position")
				c = rewind.To(want)
			case "turns":
				n := rapid.IntRange(1, 4).Draw(rt, "n")
				c, want = rewind.Turns(n), voided(raw, n)
			case "before":
				id := log[rapid.IntRange(0, len(log)-1).Draw(rt, "event")].InvocationID
				c = rewind.Before(id)
				for _, e := range slices.Backward(raw) {
					if e.InvocationID == id && id != "" {
						want = e.Seq - 1
					}
				}
			case "undo":
				c = rewind.Undo()
				for n := position; n > 0 && want < 0; n-- { // a rewind that was voided would change nothing if it were none
					if r := log[n-1].Actions.Rewind; r != nil && standsAt(log, n) {
						want = n - 1
					}
				}
			}
			was, err := s.sessions.Get(context.Background(), key)
			require.NoError(rt, err)
			plan, bad := rewind.DryRun(was.Initial, log, c)
			to, wrong := s.do(c)
			if want < 0 || want == position {
				require.NotEmpty(rt, wrong, "%v", c)
				require.EqualError(rt, bad, wrong[len("rewind: "):])
				continue
			}
			require.NoError(rt, bad)
			require.Equal(rt, want, to, "%v", c)
			require.Equal(rt, to, plan.To)
			require.Equal(rt, position, plan.Position)
			after := s.read(true)
			require.Equal(rt, seqs(session.Live(log[:to])), seqs(after))
			require.Equal(rt, without(seqs(after), seqs(live), log), orNone(plan.Back))
			require.Equal(rt, without(seqs(raw), seqs(uncompacted(log[:to])), log),
				orNone(plan.Void))
			now, err := s.sessions.Get(context.Background(), key)
			require.NoError(rt, err)
			if was.State["n"] == now.State["n"] {
				require.Empty(rt, plan.State)
			} else {
				require.Equal(rt, []rewind.Change{{Key: "n", Old: was.State["n"], New: now.State["n"]}}, plan.State)
			}
		}
	})
}

// standsAt reports whether no rewind has voided the event at position n: it would be in the view if
// it were an ordinary one.
func standsAt(log []*session.Event, n int64) bool {
	log = slices.Clone(log)
	log[n-1] = &session.Event{Seq: n}
	return slices.Contains(seqs(uncompacted(log)), n)
}

// without returns the positions of a that b has not, of events that are no markers, ascending.
func without(a, b []int64, log []*session.Event) []int64 {
	list := []int64{}
	for _, seq := range a {
		if !slices.Contains(b, seq) && !log[seq-1].Marker() {
			list = append(list, seq)
		}
	}
	slices.Sort(list)
	return list
}

func orNone(list []int64) []int64 { return append([]int64{}, list...) }
