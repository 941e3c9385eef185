package plugintest_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/plugintest"
	"github.com/plughook/plughook/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func on(f func(inv *session.Invocation, e *session.Event) plugin.Outcome) *plugin.Plugin {
	return &plugin.Plugin{
		Name: "mutant",
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			return f(inv, e), nil
		},
	}
}

func emit(events ...*session.Event) plugin.Outcome { return plugin.Outcome{Emit: events} }

// mutants break one rule each, that of the case they are listed under.
var mutants = map[string]map[string]func() *plugin.Plugin{
	"valid": {
		"a name that is none": func() *plugin.Plugin {
			p := good()
			p.Name = "No Name"
			return p
		},
		"no hook": func() *plugin.Plugin { return &plugin.Plugin{Name: "mutant"} },
	},
	"no panic": {
		"no content": func() *plugin.Plugin {
			return on(func(_ *session.Invocation, e *session.Event) plugin.Outcome {
				_ = e.Content.Role
				return plugin.Outcome{}
			})
		},
		"no part": func() *plugin.Plugin {
			return on(func(_ *session.Invocation, e *session.Event) plugin.Outcome {
				if e.Content != nil {
					_ = e.Content.Parts[0]
				}
				return plugin.Outcome{}
			})
		},
		"a null part": func() *plugin.Plugin {
			return on(func(_ *session.Invocation, e *session.Event) plugin.Outcome {
				if e.Content != nil {
					for _, p := range e.Content.Parts {
						_ = p.Text
					}
				}
				return plugin.Outcome{}
			})
		},
		"a call without arguments": func() *plugin.Plugin {
			return on(func(_ *session.Invocation, e *session.Event) plugin.Outcome {
				for _, c := range e.FunctionCalls() {
					c.Args["seen"] = true
				}
				return plugin.Outcome{}
			})
		},
	},
	"nothing in place": {
		"the event": func() *plugin.Plugin {
			return on(func(_ *session.Invocation, e *session.Event) plugin.Outcome {
				e.ErrorMessage += "!"
				return plugin.Outcome{}
			})
		},
		"a part": func() *plugin.Plugin {
			return on(func(_ *session.Invocation, e *session.Event) plugin.Outcome {
				if e.Text() != "" {
					for _, p := range e.Content.Parts {
						if p != nil {
							p.Text = strings.ToUpper(p.Text)
						}
					}
				}
				return plugin.Outcome{}
			})
		},
		"the state": func() *plugin.Plugin {
			return &plugin.Plugin{
				Name: "mutant",
				BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
					inv.State["seen"] = true
					return plugin.Outcome{}, nil
				},
			}
		},
		"what a request's part points to": func() *plugin.Plugin {
			return &plugin.Plugin{
				Name: "mutant",
				BeforeModel: func(_ context.Context, _ *session.Invocation, r *model.Request) (plugin.Outcome, error) {
					for _, c := range r.Contents {
						for _, p := range c.Parts {
							if p != nil && p.FunctionCall != nil {
								p.FunctionCall.Args["city"] = "gone"
							}
						}
					}
					return plugin.Outcome{}, nil
				},
			}
		},
	},
	"allowed outcomes": {
		"replace and withhold": func() *plugin.Plugin {
			return on(func(_ *session.Invocation, e *session.Event) plugin.Outcome {
				return plugin.Outcome{Replace: e.Clone(), Withhold: true}
			})
		},
		"stop at the end": func() *plugin.Plugin {
			return &plugin.Plugin{
				Name: "mutant",
				AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
					return plugin.Outcome{Stop: true}, nil
				},
			}
		},
		"a nil event": func() *plugin.Plugin {
			return on(func(*session.Invocation, *session.Event) plugin.Outcome { return emit(nil) })
		},
		"the runner's notes": func() *plugin.Plugin {
			return on(func(*session.Invocation, *session.Event) plugin.Outcome {
				e := session.Reply("x")
				e.CustomMetadata = map[string]any{session.NotesKey: map[string]any{"reason": "me"}}
				return emit(e)
			})
		},
	},
	"events that can be appended": {
		"a rewind that carries content": func() *plugin.Plugin {
			return on(func(*session.Invocation, *session.Event) plugin.Outcome {
				e := session.Reply("x")
				e.Actions.Rewind = &session.Rewind{}
				return emit(e)
			})
		},
		"an id that is taken": func() *plugin.Plugin {
			n := 0
			return on(func(inv *session.Invocation, _ *session.Event) plugin.Outcome {
				n++
				e := session.Reply(strings.Repeat("x", n))
				e.ID = "mine"
				return emit(e)
			})
		},
	},
	"observers ask nothing": {
		"it answers": func() *plugin.Plugin {
			p := on(
				func(*session.Invocation, *session.Event) plugin.Outcome { return plugin.Outcome{Reason: "seen"} },
			)
			p.Observer = true
			return p
		},
	},
	"unknown keys survive": {
		"built anew": func() *plugin.Plugin {
			return on(func(_ *session.Invocation, e *session.Event) plugin.Outcome {
				if !strings.Contains(e.Text(), "4111") {
					return plugin.Outcome{}
				}
				return plugin.Outcome{Replace: session.Reply("****")}
			})
		},
		"half of them": func() *plugin.Plugin {
			return on(func(_ *session.Invocation, e *session.Event) plugin.Outcome {
				if !strings.Contains(e.Text(), "4111") {
					return plugin.Outcome{}
				}
				c := e.Clone()
				c.Extra = nil
				return plugin.Outcome{Replace: c}
			})
		},
	},
	"partial events": {
		"a partial in place": func() *plugin.Plugin {
			p := on(func(_ *session.Invocation, e *session.Event) plugin.Outcome {
				if e.Partial {
					e.Content = genai.NewContentFromText("x", genai.RoleModel)
				}
				return plugin.Outcome{}
			})
			p.Partials = true
			return p
		},
	},
	"requests settle": {
		"emits each time": func() *plugin.Plugin {
			return &plugin.Plugin{
				Name: "mutant",
				BeforeModel: func(context.Context, *session.Invocation, *model.Request) (plugin.Outcome, error) {
					return emit(session.Reply("one more")), nil
				},
			}
		},
	},
	"every end": {
		"an end without an error": func() *plugin.Plugin {
			return &plugin.Plugin{
				Name: "mutant",
				AfterRun: func(_ context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
					return plugin.Outcome{Reason: end.Err.Error()}, nil
				},
			}
		},
		"an end that it does not know": func() *plugin.Plugin {
			return &plugin.Plugin{
				Name: "mutant",
				AfterRun: func(_ context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
					if end.Kind == plugin.EndLeft {
						panic("left?")
					}
					return plugin.Outcome{}, nil
				},
			}
		},
	},
	"usable after a cancelled run": {
		"it remembers who has not ended": func() *plugin.Plugin {
			open := map[session.Key]bool{}
			var mu sync.Mutex
			return &plugin.Plugin{Name: "mutant",
				BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
					mu.Lock()
					defer mu.Unlock()
					if open[inv.Key] {
						return plugin.Outcome{}, errors.New("this session is busy")
					}
					open[inv.Key] = true
					return plugin.Outcome{}, nil
				},
				AfterRun: func(_ context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
					mu.Lock()
					defer mu.Unlock()
					if end.Kind != plugin.EndCancelled && end.Kind != plugin.EndFailed {
						delete(open, inv.Key)
					}
					return plugin.Outcome{}, nil
				}}
		},
	},
	"usable after a failed append": {
		"it counts what it emitted as said": func() *plugin.Plugin {
			said := map[string]bool{}
			var mu sync.Mutex
			return &plugin.Plugin{
				Name: "mutant",
				OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
					mu.Lock()
					defer mu.Unlock()
					if e.Author != session.User {
						return plugin.Outcome{}, nil
					}
					text := inv.Key.User + e.Text()
					if said[text] && !strings.Contains(e.Text(), "Thanks") {
						for _, live := range inv.Live {
							if live.Author == "plugin/mutant" {
								return plugin.Outcome{}, nil
							}
						}
						return plugin.Outcome{}, errors.New("what I have said is not there")
					}
					said[text] = true
					return emit(session.Reply("noted")), nil
				},
			}
		},
	},
	"sessions at once": {
		"the last session's input": func() *plugin.Plugin {
			last := ""
			var mu sync.Mutex
			return on(func(_ *session.Invocation, e *session.Event) plugin.Outcome {
				mu.Lock()
				defer mu.Unlock()
				if e.Author == session.User {
					was := last
					last = e.Text()
					return emit(session.Reply("before that: " + was))
				}
				return plugin.Outcome{}
			})
		},
	},
	"the same through the wire": {
		"what it was offered, by its pointer": func() *plugin.Plugin {
			seen := map[*genai.Content]bool{}
			var mu sync.Mutex
			return on(func(inv *session.Invocation, e *session.Event) plugin.Outcome {
				mu.Lock()
				defer mu.Unlock()
				seen[e.Content] = true
				if n := len(inv.Live); n > 0 && seen[inv.Live[n-1].Content] {
					return emit(session.Reply("I have seen that"))
				}
				return plugin.Outcome{}
			})
		},
	},
	"closes": {
		"it panics the second time": func() *plugin.Plugin {
			p, c := good(), make(chan int)
			p.Close = func(context.Context) error { close(c); return nil }
			return p
		},
		"it fails": func() *plugin.Plugin {
			p := good()
			p.Close = func(context.Context) error { return errors.New("the disk is full") }
			return p
		},
	},
}

// good is a plugin that keeps every rule, and does something in every hook.
func good() *plugin.Plugin {
	redact := func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
		if e.Partial || !strings.Contains(e.Text(), "4111 1111 1111 1111") {
			return plugin.Outcome{}, nil
		}
		c := e.Clone()
		for _, p := range c.Content.Parts {
			if p != nil {
				p.Text = strings.ReplaceAll(p.Text, "4111 1111 1111 1111", "****")
			}
		}
		return plugin.Outcome{Replace: c, Reason: "a card"}, nil
	}
	return &plugin.Plugin{Name: "good", Partials: true, OnEvent: redact,
		BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			e := session.Reply("welcome")
			e.Actions.StateDelta = map[string]any{"seen": true}
			return emit(e), nil
		},
		BeforeModel: func(_ context.Context, _ *session.Invocation, r *model.Request) (plugin.Outcome, error) {
			r.Contents = append(r.Contents, genai.NewContentFromText("be kind", genai.RoleUser))
			return plugin.Outcome{}, nil
		},
		AfterRun: func(_ context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
			return emit(session.Reply("ended " + string(end.Kind))), nil
		},
		Close: func(context.Context) error { return nil },
	}
}

func TestGood(t *testing.T) { plugintest.Check(t, good()) }

func TestMutantsAreCaught(t *testing.T) {
	for _, c := range plugintest.Cases() {
		if c.Name == "cancelled in time" || c.Name == "returns" {
			continue // it has a test of its own
		}
		if len(mutants[c.Name]) == 0 {
			t.Errorf("nothing shows that the case %q can fail", c.Name)
		}
		for name, mutant := range mutants[c.Name] {
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				err := c.Run(t.Context(), mutant())
				if _, skipped := errors.AsType[plugintest.Skip](err); err == nil || skipped {
					t.Fatalf("it was not caught: %v", err)
				}
			})
		}
	}
}

func TestHangsAreCaught(t *testing.T) {
	for _, c := range plugintest.Cases() {
		if c.Name != "cancelled in time" && c.Name != "returns" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free := make(chan struct{})
				p := &plugin.Plugin{
					Name: "mutant",
					OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
						<-free
						return plugin.Outcome{}, nil
					},
				}
				err := c.Run(t.Context(), p)
				close(free)
				if err == nil || !strings.Contains(err.Error(), "did not return") {
					t.Fatalf("it was not caught: %v", err)
				}
			})
		})
	}
}

// daily lets a user say one thing a day.
func daily() *plugin.Plugin {
	return &plugin.Plugin{
		Name: "daily",
		BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			day := "daily:" + inv.Now().Format(time.DateOnly)
			if inv.State[day] != nil {
				return plugin.Deny("Come again tomorrow, "+inv.Key.User+".", "one a day in "+inv.Key.App), nil
			}
			note := &session.Event{Actions: session.Actions{StateDelta: map[string]any{day: inv.Now().Format(time.RFC3339Nano)}}}
			return emit(note), nil
		},
	}
}

func TestScriptsHaveAClock(t *testing.T) { plugintest.Run(t, daily, "testdata/clock/*.txtar") }

func TestScriptsThatAreWrong(t *testing.T) {
	for script, says := range map[string]string{
		"-- turns --\nnow: tomorrow\nuser: Hello\n":                        "turns, line 1: now: tomorrow",
		"-- turns --\nnow: +1h\nuser: Hello\n":                             "turns, line 1: now: +1h",
		"-- session.yaml --\nusr: bob\n-- turns --\nuser: Hello\n":         "session.yaml: ",
		"-- session.yaml --\nuser: \"\"\n-- turns --\nuser: Hello\n":       "",
		"-- session.yaml --\nuser: \"a\\u0000b\"\n-- turns --\nuser: Hi\n": "session.yaml: ",
	} {
		_, err := plugintest.Play(t.Context(), []byte(script), daily())
		switch {
		case says == "" && err != nil:
			t.Errorf("%s: %v", script, err)
		case says != "" && (err == nil || !strings.Contains(err.Error(), says)):
			t.Errorf("%s: %v does not say %q", script, err, says)
		}
	}
}

func TestScripts(t *testing.T) { plugintest.Run(t, good, "testdata/*.txtar") }

// Who tests a plugin does not get this project's test libraries.
func TestAuthorsInheritNone(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".", "../remote").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		for _, not := range []string{"github.com/stretchr/testify", "pgregory.net/rapid", "go.uber.org/goleak"} {
			if strings.HasPrefix(dep, not) {
				t.Errorf("it imports %s", dep)
			}
		}
	}
}
