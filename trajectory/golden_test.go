package trajectory_test

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/trajectory"
)

// recordings returns the sessions of trajectory-input.jsonl.
func recordings(t *testing.T) map[string]*session.Recording {
	f, err := os.Open("testdata/trajectory-input.jsonl")
	require.NoError(t, err)
	defer f.Close()
	recordings := map[string]*session.Recording{}
	for rec, err := range session.ReadRecordings(f.Name(), f) {
		require.NoError(t, err)
		recordings[rec.Key.ID] = rec
	}
	return recordings
}

func extract(t *testing.T, rec *session.Recording, c trajectory.Config) *trajectory.Extract {
	s := &session.Session{Key: rec.Key, Initial: rec.State}
	x, err := trajectory.Read(s, each(rec.Events), c)
	require.NoError(t, err)
	return x
}

func each(events []*session.Event) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func golden(t *testing.T, name string) string {
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return string(data)
}

func TestGoldenTrajectories(t *testing.T) {
	recs := recordings(t)
	for line := range strings.Lines(golden(t, "trajectory-expected.jsonl")) {
		want := decoded(t, []byte(line)).(map[string]any)
		id := want["session"].(map[string]any)["id"].(string)
		agent, _ := want["agent"].(string)
		c := trajectory.Config{
			MaxString: 60,
			View:      trajectory.View(want["view"].(string)),
			Agent:     agent,
		}

		var got bytes.Buffer
		require.NoError(t, trajectory.WriteTrajectory(&got, extract(t, recs[id], c)))
		require.JSONEq(t, line, got.String(), "%s %s %s", id, c.View, agent)
		require.Equal(t, 1, strings.Count(got.String(), "\n"))

		// The Trajectory in memory says the same.
		whole, err := json.Marshal(extract(t, recs[id], c).Trajectory())
		require.NoError(t, err)
		require.JSONEq(t, line, string(whole))

		// A live view that a store has chosen gives the same as the log.
		if c.View == trajectory.Live {
			live := *recs[id]
			live.Events = session.Live(live.Events)
			require.Equal(t, extract(t, recs[id], c).Trajectory(),
				extract(t, &live, c).Trajectory())
		}
	}
}

func TestGoldenForms(t *testing.T) {
	x := extract(t, recordings(t)["t1"], trajectory.Config{MaxString: 60})
	for name, write := range map[string]func(io.Writer) (trajectory.Omitted, error){
		"trajectory-chat.jsonl": func(w io.Writer) (trajectory.Omitted, error) {
			return trajectory.WriteChat(w, x, trajectory.Chat{})
		},
		"trajectory-t1.atif.json": func(w io.Writer) (trajectory.Omitted, error) {
			return trajectory.WriteATIF(w, x)
		},
		"trajectory-t1.evalset.json": func(w io.Writer) (trajectory.Omitted, error) {
			set := trajectory.NewEvalSet(w, "t1")
			omitted, err := set.Add(x)
			require.NoError(t, err)
			return omitted, set.Close()
		},
	} {
		var got bytes.Buffer
		omitted, err := write(&got)
		require.NoError(t, err, name)
		require.JSONEq(t, golden(t, name), got.String(), name)
		if name == "trajectory-chat.jsonl" {
			require.Equal(t, trajectory.Omitted{Unanswered: 1}, omitted, name)
		} else {
			require.Zero(t, omitted, name)
		}
	}
}
