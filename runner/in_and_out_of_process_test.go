package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/leaktest"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/session"
)

// wayEnv tells the test binary to be plugin number n of a case: "case/n".
const wayEnv = "PLUGHOOK_TEST_WAY"

func TestMain(m *testing.M) {
	if name, n, ok := strings.Cut(os.Getenv(wayEnv), "/"); ok {
		i, _ := strconv.Atoi(n)
		serve.Plugin(ways[name].plugins()[i])
		return
	}
	if from, file, ok := strings.Cut(os.Getenv(outsideEnv), "/"); ok {
		turn, _ := strconv.Atoi(from)
		fmt.Println(offerTurns("/"+file, turn))
		return
	}
	leaktest.Main(m)
}

// way is a conversation that shows a rule. Its plugins keep nothing and say what they see, so that
// it comes out alike whatever process they are in.
type way struct {
	agent   agent.Agent
	plugins func() []*plugin.Plugin
	say     []string            // the inputs, one run each
	want    map[string][]string // what each run yields
	err     string              // the last run's
	stream  bool
}

var ways = map[string]*way{
	"one path: input, agent, emissions of every hook": {
		agent: asking("hello"),
		plugins: func() []*plugin.Plugin {
			return []*plugin.Plugin{{Name: "all",
				BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
					return emit(fmt.Sprintf("before %s %d", inv.Input.Text(), len(inv.Live))), nil
				},
				OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
					if e.Text() != "hello" {
						return plugin.Outcome{}, nil
					}
					return emit(fmt.Sprintf("on %s at %d", e.Text(), inv.Position)), nil
				},
				AfterRun: func(_ context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
					return emit(
						fmt.Sprintf("after %s %v %d", end.Kind, inv.State["mood"], len(inv.Live)),
					), nil
				}}, echoes("later")}
		},
		say: []string{"hi", "again"},
		want: map[string][]string{
			"hi": {
				"user: hi",
				"plugin/later: saw user: hi",
				"plugin/all: before hi 2",
				"plugin/later: saw plugin/all: before hi 2",
				"bot: hello",
				"plugin/all: on hello at 4",
				"plugin/later: saw plugin/all: on hello at 4",
				"plugin/later: saw bot: hello",
				"plugin/all: after done fine 8",
				"plugin/later: saw plugin/all: after done fine 8",
			},
			"again": {
				"user: again",
				"plugin/later: saw user: again",
				"plugin/all: before again 12",
				"plugin/later: saw plugin/all: before again 12",
				"bot: hello",
				"plugin/all: on hello at 14",
				"plugin/later: saw plugin/all: on hello at 14",
				"plugin/later: saw bot: hello",
				"plugin/all: after done fine 18",
				"plugin/later: saw plugin/all: after done fine 18",
			},
		},
	},
	"replace, withhold, stop": {
		agent: asking("the card is 4111"),
		plugins: func() []*plugin.Plugin {
			return []*plugin.Plugin{
				on("redact", "the card is 4111", func(e *session.Event) plugin.Outcome {
					return plugin.Outcome{Replace: with(e, "the card is ****"), Reason: "card"}
				}),
				on("deny", "attack",
					func(*session.Event) plugin.Outcome { return plugin.Deny("no", "policy") }),
				echoes("later"),
			}
		},
		say: []string{"hi", "attack"},
		want: map[string][]string{
			"hi": {
				"user: hi",
				"plugin/later: saw user: hi",
				"bot: the card is ****",
				"plugin/later: saw bot: the card is ****",
			},
			"attack": {"plugin/deny: no", "plugin/later: saw plugin/deny: no"},
		},
	},
	"the model's request": {
		agent: asking(""),
		plugins: func() []*plugin.Plugin {
			return []*plugin.Plugin{
				{
					Name: "prompt",
					BeforeModel: func(_ context.Context, _ *session.Invocation, r *model.Request) (plugin.Outcome, error) {
						r.Config = &genai.GenerateContentConfig{
							SystemInstruction: genai.NewContentFromText("be kind", "user"),
						}
						r.Contents = append(r.Contents,
							genai.NewContentFromText("and short", "user"))
						return plugin.Outcome{}, nil
					},
				},
				{
					Name: "cache",
					BeforeModel: func(_ context.Context, inv *session.Invocation, r *model.Request) (plugin.Outcome, error) {
						if inv.Input.Text() != "cached" {
							return plugin.Outcome{}, nil
						}
						out := emit(fmt.Sprintf("cached %d %s", len(r.Contents),
							r.Config.SystemInstruction.Parts[0].Text))
						out.Withhold = true
						return out, nil
					},
				},
			}
		},
		say: []string{"hi", "cached"},
		want: map[string][]string{
			"hi":     {"user: hi", "bot: asked: hi and short (be kind)"},
			"cached": {"user: cached", "plugin/cache: cached 4 be kind"},
		},
	},
	"compaction and rewind": {
		agent: asking("hello"),
		plugins: func() []*plugin.Plugin {
			return []*plugin.Plugin{
				{
					Name: "fold",
					OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
						switch e.Text() {
						case "fold":
							return plugin.Outcome{
								Withhold: true,
								Stop:     true,
								Emit: []*session.Event{
									{Actions: session.Actions{Compaction: &session.Compaction{
										Through: inv.Position, Frontier: inv.Frontier, Content: genai.NewContentFromText("they greeted", "user")}}},
								},
							}, nil
						case "undo":
							return plugin.Outcome{
								Withhold: true,
								Stop:     true,
								Emit: []*session.Event{
									{Actions: session.Actions{Rewind: &session.Rewind{To: 2}}},
								},
							}, nil
						}
						return plugin.Outcome{}, nil
					},
				},
				{
					Name: "live",
					BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
						var seqs []string
						for _, e := range inv.Live {
							seqs = append(seqs, fmt.Sprint(e.Seq))
						}
						return emit(fmt.Sprintf("live %s of %d, frontier %d",
							strings.Join(seqs, " "), inv.Position, inv.Frontier)), nil
					},
				},
			}
		},
		say: []string{"hi", "fold", "more", "undo", "and"},
		want: map[string][]string{
			"hi": {
				"user: hi",
				"plugin/live: live 1 of 1, frontier 0",
				"bot: hello",
			}, "fold": {"plugin/fold: "},
			"more": {
				"user: more",
				"plugin/live: live 4 5 of 5, frontier 4",
				"bot: hello",
			}, "undo": {"plugin/fold: "},
			"and": {"user: and", "plugin/live: live 1 2 9 of 9, frontier 8", "bot: hello"},
		},
	},
	"a failure is closed": {
		agent: asking("hello"),
		plugins: func() []*plugin.Plugin {
			return []*plugin.Plugin{
				on("fails", "hello", func(*session.Event) plugin.Outcome { panic("oops") }),
				after("last"),
			}
		},
		say:  []string{"hi"},
		want: map[string][]string{"hi": {"user: hi", "plugin/last: failed fails"}},
		err:  "plugin fails: OnEvent: panic: oops",
	},
	"an outcome that the hook cannot have": {
		agent: asking("hello"),
		plugins: func() []*plugin.Plugin {
			return []*plugin.Plugin{
				{
					Name: "bad",
					BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
						return plugin.Outcome{Replace: session.Reply("x")}, nil
					},
				},
				after("last"),
			}
		},
		say:  []string{"hi"},
		want: map[string][]string{"hi": {"user: hi", "plugin/last: failed bad"}},
		err:  "there is no event to replace",
	},
	"an emission with an id that is taken": {
		agent: asking("hello"),
		plugins: func() []*plugin.Plugin {
			return []*plugin.Plugin{on("thief", "hi", func(e *session.Event) plugin.Outcome {
				out := emit("mine")
				out.Emit[0].ID = e.ID
				return out
			}), after("last")}
		},
		say:  []string{"hi"},
		want: map[string][]string{"hi": {"plugin/last: failed thief"}},
		err:  "plugin thief: OnEvent: ",
	},
	"a failure is open where it is said": {
		agent: asking("hello"),
		plugins: func() []*plugin.Plugin {
			return []*plugin.Plugin{
				{
					Name: "open",
					OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
						return plugin.Outcome{}, errors.New("no luck")
					},
				},
			}
		},
		say:  []string{"hi"},
		want: map[string][]string{"hi": {"user: hi unchecked", "bot: hello unchecked"}},
	},
	"partial events, and a filter": {
		agent: says("=he", "=llo", "hello"), stream: true,
		plugins: func() []*plugin.Plugin {
			p := echoes("chunks")
			p.Partials, p.Filter = true, &plugin.Filter{
				Authors: []string{"bot"},
				Has:     []plugin.EventFeature{plugin.HasText},
			}
			return []*plugin.Plugin{p}
		},
		say: []string{"hi"},
		want: map[string][]string{
			"hi": {
				"user: hi",
				"bot: =he",
				"plugin/chunks: saw bot: =he",
				"bot: =llo",
				"plugin/chunks: saw bot: =llo",
				"bot: hello",
				"plugin/chunks: saw bot: hello",
			},
		},
	},
}

// asking is an agent that asks for leave to call its model, and says text, or what it would have
// asked.
func asking(text string) agent.Agent {
	return does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
		req, err := h.BeforeModel(ctx, func(inv *session.Invocation) (*model.Request, error) {
			r := &model.Request{Agent: "bot"}
			for _, e := range inv.Live {
				if e.Content != nil {
					r.Contents = append(r.Contents, e.Content)
				}
			}
			return r, nil
		})
		if err != nil || req == nil {
			return
		}
		if text != "" {
			yield(session.Reply(text), nil)
			return
		}
		var said []string
		for _, c := range req.Contents {
			said = append(said, c.Parts[0].Text)
		}
		yield(
			session.Reply(fmt.Sprintf("asked: %s (%s)", strings.Join(said, " "),
				req.Config.SystemInstruction.Parts[0].Text)),
			nil,
		)
	})
}

// echoes emits what it sees of others.
func echoes(name string) *plugin.Plugin {
	return &plugin.Plugin{
		Name: name,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			return emit("saw " + line(e)), nil
		},
	}
}

// after says how an invocation ended.
func after(name string) *plugin.Plugin {
	return &plugin.Plugin{
		Name: name,
		AfterRun: func(_ context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
			var failed *plugin.Error
			errors.As(end.Err, &failed)
			return emit(fmt.Sprintf("%s %s", end.Kind, failed.Plugin)), nil
		},
	}
}

// The rules hold alike for plugins in process, through the whole encoding, and in processes of
// their own.
func TestRules_ThreeWays(t *testing.T) {
	for how, wrap := range map[string]func(t *testing.T, name string, i int, p *plugin.Plugin) *plugin.Plugin{
		"direct":   func(_ *testing.T, _ string, _ int, p *plugin.Plugin) *plugin.Plugin { return p },
		"loopback": func(_ *testing.T, _ string, _ int, p *plugin.Plugin) *plugin.Plugin { return remote.Loopback(p) },
		"process": func(t *testing.T, name string, i int, p *plugin.Plugin) *plugin.Plugin {
			started, err := remote.Start(ctx, remote.Config{Command: []string{os.Args[0]}, Env: []string{fmt.Sprintf("%s=%s/%d", wayEnv, name, i), "GORACE=atexit_sleep_ms=0"}, // it would sleep a second
				Timeout: time.Minute, StartTimeout: time.Minute, Log: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			require.Equal(t, p.Name, started.Name)
			return started
		},
	} {
		for name, w := range ways {
			t.Run(how+"/"+name, func(t *testing.T) {
				s := stage(t, w.agent)
				for i, p := range w.plugins() {
					p = wrap(t, name, i, p)
					if p.Name == "open" {
						p = plugin.FailOpen(p)
					}
					s.plugins = append(s.plugins, p)
				}
				if w.stream {
					s.cfg.Streaming = session.SSE
				}
				for i, text := range w.say {
					var got []string
					var last error
					for e, err := range s.start().Run(ctx, key, session.Message(text), s.cfg) {
						if last = err; err != nil {
							break
						}
						unchecked := ""
						if len(plugin.NotesOf(e).Unchecked) > 0 {
							unchecked = " unchecked"
						}
						got = append(got, line(e)+unchecked)
					}
					require.Equal(t, w.want[text], got, text)
					if w.err != "" && i == len(w.say)-1 {
						var failed *plugin.Error
						require.ErrorAs(t, last, &failed)
						require.ErrorContains(t, last, w.err)
					} else {
						require.NoError(t, last)
					}
				}
				require.NoError(t, s.close())
			})
		}
	}
}
