package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/session"
)

// deskSettings are those of the plugin desk-plugin, which scripts start.
type deskSettings struct {
	Deny  string `json:"deny,omitempty" jsonschema:"a word that is refused"`
	Greet struct {
		Times int      `json:"times,omitempty"`
		Names []string `json:"names,omitempty"`
	} `json:"greet,omitempty"`
	Fail bool `json:"fail,omitempty"`
}

// deskPlugin is the main of desk-plugin: it refuses a word, ends and fails when it is told to, and says what
// is in its environment.
func deskPlugin() {
	serve.WithSettings(
		serve.About{Name: "desk", Version: "v1.2.3", Doc: "Refuses a word."},
		func(c deskSettings) (*plugin.Plugin, error) {
			if c.Fail {
				return nil, errors.New("it does not want to")
			}
			return &plugin.Plugin{
				Filter: &plugin.Filter{
					Authors: []string{session.User},
					Has:     []plugin.EventFeature{plugin.HasText},
				},
				OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
					verb, rest, _ := strings.Cut(e.Text(), " ")
					switch {
					case verb == "crash":
						os.Exit(3)
					case verb == "hang":
						select {}
					case verb == "env":
						return plugin.Outcome{
							Emit: []*session.Event{session.Reply("[" + os.Getenv(rest) + "]")},
							Stop: true,
						}, nil
					case c.Deny != "" && strings.Contains(e.Text(), c.Deny):
						return plugin.Deny("I may not do that.", "a word"), nil
					}
					return plugin.Outcome{}, nil
				},
				Close: func(context.Context) error {
					if name := os.Getenv("CLOSED"); name != "" {
						return os.WriteFile(name, nil, 0o600)
					}
					return nil
				},
			}, nil
		},
	)
}
