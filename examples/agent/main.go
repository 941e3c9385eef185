// Agent is a program with an agent of its own: a tool that is a Go function, one that a human must agree to,
// and a second agent that it can hand over to.
//
// Its model is Gemini if GEMINI_API_KEY is set, and otherwise answers from script.yaml:
//
//	go run ./examples/agent "Is there a table for two at 8?" "Book it." "Thanks, and where can I park?"
package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/gemini"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

//go:embed script.yaml
var answers []byte

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, messages []string, in io.Reader, out io.Writer) error {
	m, err := chooseModel(ctx)
	if err != nil {
		return err
	}
	desk, err := newDesk(m)
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Options{Agent: desk, Sessions: memory.New()})
	if err != nil {
		return err
	}
	defer r.Close(ctx)
	key := session.Key{App: "restaurant", User: "ada", ID: session.NewID()}
	people := bufio.NewScanner(in)
	for _, text := range messages {
		fmt.Fprintln(out, "you:", text)
		for input := session.Message(text); input != nil; {
			var log []*session.Event
			for e, err := range r.Run(ctx, key, input, session.RunConfig{Create: true}) {
				if err != nil {
					return err
				}
				log = append(log, e)
				if said := e.Text(); said != "" && e.Author != session.User {
					fmt.Fprintf(out, "%s: %s\n", e.Author, said)
				}
				if e.ErrorCode != "" { // a failed model call, for one
					fmt.Fprintf(out, "%s: %s: %s\n", e.Author, e.ErrorCode, e.ErrorMessage)
				}
			}
			input = nil
			for _, call := range session.Calls(log) {
				if call.Held == nil || call.Response != nil {
					continue
				}
				fmt.Fprintf(out, "%s %v: %s [y/n] ", call.Name, call.Args, call.Held.Actions.RequestedToolConfirmations[call.ID].Hint)
				input = session.Decision(people.Scan() && strings.HasPrefix(people.Text(), "y"), call.ID)
				fmt.Fprintln(out)
			}
		}
	}
	return nil
}

type slot struct {
	Hour   int `json:"hour" jsonschema:"the hour of the day, 0 to 23"`
	People int `json:"people"`
}

// newDesk returns the agent that guests talk to.
func newDesk(m model.Model) (agent.Agent, error) {
	free, err := tool.New("free_tables", "Says how many tables are free.", func(_ context.Context, _ *tool.Call, in slot) (int, error) {
		return max(0, 23-in.Hour), nil
	})
	if err != nil {
		return nil, err
	}
	book, err := tool.New("book_table", "Books a table.", func(_ context.Context, call *tool.Call, in slot) (string, error) {
		call.Set("table", in) // into the session's state, with the response
		return "booked", nil
	})
	if err != nil {
		return nil, err
	}
	concierge, err := llm.New(llm.Config{Name: "concierge", Description: "Knows the town: parking, trains, hotels.", Model: m,
		Instruction: "You help guests to get here. Hand back to desk for tables."})
	if err != nil {
		return nil, err
	}
	return llm.New(llm.Config{Name: "desk", Model: m, Instruction: "You are the desk of a restaurant. The guest's table: {table?}",
		Tools: []*tool.Tool{free, tool.Confirm(book, "A table that stays empty costs 20 EUR.")}, SubAgents: []agent.Agent{concierge}})
}

func chooseModel(ctx context.Context) (model.Model, error) {
	if os.Getenv("GEMINI_API_KEY") == "" {
		return script.Parse("script.yaml", answers)
	}
	return gemini.New(ctx, gemini.Config{Model: "gemini-2.5-flash"})
}
