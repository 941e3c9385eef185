package extract_test

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

func quarter(s string) int { return (utf8.RuneCountInString(s) + 3) / 4 }

// data returns the folder with development data, or skips the test.
func data(t testing.TB) string {
	for _, dir := range []string{os.Getenv("PLUGHOOK_DATA"), "../../../../../shared/data"} {
		if _, err := os.Stat(filepath.Join(dir, "locomo-dev.jsonl")); dir != "" && err == nil {
			return dir
		}
	}
	t.Skip(
		"neither PLUGHOOK_DATA nor ../shared/data beside the repository is a folder with conversations",
	)
	return ""
}

func recordings(t testing.TB, file string) (recs []*session.Recording) {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	for rec, err := range session.ReadRecordings(file, f) {
		require.NoError(t, err)
		recs = append(recs, rec)
	}
	return recs
}

// reload returns the state that another process finds: the JSON and the text are all that is stored.
func reload(t require.TestingT, s *extract.State, text string) *extract.State {
	j, err := json.Marshal(s)
	require.NoError(t, err)
	return extract.Resume(j, text)
}

// last is the view at the end of a session that was compacted every so many events.
func last(t testing.TB, events []*session.Event, every, budget, tail int) string {
	first := extract.Render(events[0]) + "\n"
	end := first
	for _, e := range events[len(events)-tail:] {
		end += "\n" + extract.Render(e)
	}
	s := new(extract.State)
	for from := 1; from < len(events)-tail; from += every {
		s.Add(events[from:min(from+every, len(events)-tail)])
		text := s.Text(budget-quarter(end)-1, quarter)
		if from+every >= len(events)-tail {
			return first + text + strings.TrimPrefix(end, first)
		}
		s = reload(t, s, text)
	}
	return end
}

// score runs a scorer on views and returns its table.
func score(t testing.TB, dir, name string, views []map[string]string, args ...string) string {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to run the scorers")
	}
	out := filepath.Join(t.TempDir(), "views.jsonl")
	f, err := os.Create(out)
	require.NoError(t, err)
	for _, view := range views {
		require.NoError(t, json.NewEncoder(f).Encode(view))
	}
	require.NoError(t, f.Close())
	table, err := exec.Command(python, append([]string{filepath.Join(dir, "..", "bench", name), "--views", out}, args...)...).
		CombinedOutput()
	require.NoError(t, err, "%s", table)
	return string(table)
}

// The floors are what the package is for, well below what it reaches. Many generations lose at most a
// few points against one: the first of them know less about which words are rare in the session.
func TestScoreLast(t *testing.T) {
	dir := data(t)
	floors := map[int][2]float64{2000: {19, 57}, 4000: {37, 73}}
	for _, budget := range []int{2000, 4000} {
		var least [2]float64
		for _, every := range []int{10, 50, 100_000} {
			var views []map[string]string
			for _, rec := range recordings(t, filepath.Join(dir, "locomo-dev.jsonl")) {
				text := last(t, rec.Events, every, budget, 2)
				require.LessOrEqual(t, quarter(text), budget)
				views = append(views, map[string]string{"session": rec.Key.ID, "text": text})
			}
			table := score(t, dir, "score_compaction.py", views, "--qa",
				filepath.Join(dir, "locomo-dev-qa.jsonl"))
			t.Logf("budget %d, compacted every %d events\n%s", budget, every, table)
			all := strings.Fields(table[strings.LastIndex(table, "all "):])
			for i, floor := range floors[budget] {
				reached, err := strconv.ParseFloat(all[2+2*i], 64)
				require.NoError(t, err)
				require.GreaterOrEqual(t, reached, floor)
				if every < 100_000 {
					least[i] = cmp.Or(min(least[i], reached), reached)
				} else {
					require.GreaterOrEqual(t, least[i], reached-4)
				}
			}
		}
	}
}

// calls returns the views just before each probed call, compacted before each of them.
func calls(
	t testing.TB,
	events []*session.Event,
	budget int,
	view func(e *session.Event, text string),
) {
	first := extract.Render(events[0])
	s := new(extract.State)
	covered := map[int]bool{0: true}
	live := 0
	for i, e := range events {
		if len(e.FunctionCalls()) > 0 {
			end := ""
			keep := map[int]bool{}
			if live > 0 {
				keep[live] = true
				end += "\n" + extract.Render(events[live])
			}
			if i-1 > live {
				if tail := "\n" + extract.Render(events[i-1]); quarter(tail) < budget/4 {
					keep[i-1] = true
					end += tail
				}
			}
			var batch []*session.Event
			for j := range i {
				if !covered[j] && !keep[j] {
					batch, covered[j] = append(batch, events[j]), true
				}
			}
			s.Add(batch)
			summary := s.Text(budget-quarter(first+end)-1, quarter)
			text := first + "\n" + summary + end
			require.LessOrEqual(t, quarter(text), budget)
			view(e, text)
			s = reload(t, s, summary)
		}
		if e.Author == session.User {
			live = i
		}
	}
}

func TestScoreCalls(t *testing.T) {
	dir := data(t)
	probed := map[string]bool{}
	probes, err := os.ReadFile(filepath.Join(dir, "airline-probes.jsonl"))
	require.NoError(t, err)
	for line := range strings.Lines(string(probes)) {
		var p struct{ Event string }
		require.NoError(t, json.Unmarshal([]byte(line), &p))
		probed[p.Event] = true
	}
	for _, budget := range []int{256, 512, 1024} {
		var views []map[string]string
		for _, rec := range recordings(t, filepath.Join(dir, "airline.jsonl")) {
			calls(t, rec.Events, budget, func(e *session.Event, text string) {
				if probed[e.ID] {
					views = append(views,
						map[string]string{"session": rec.Key.ID, "event": e.ID, "text": text})
				}
			})
		}
		table := score(t, dir, "score_carry.py", views, "--probes",
			filepath.Join(dir, "airline-probes.jsonl"))
		t.Logf("budget %d\n%s", budget, table)
		reached, err := strconv.ParseFloat(
			strings.Fields(table[strings.LastIndex(table, "all "):])[2], 64)
		require.NoError(t, err)
		if budget >= 512 {
			require.GreaterOrEqual(t, reached, 95.0)
		}
	}
}
