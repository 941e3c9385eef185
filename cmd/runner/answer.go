package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/yamlfile"
)

// answers are a person's to calls that wait: what the flags say.
type answers struct{ approve, decline, respond []string }

func (a *answers) none() bool { return len(a.approve)+len(a.decline)+len(a.respond) == 0 }

// event returns the input with the answers and a text, which may be empty.
func (a *answers) event(waiting []session.Call, text string) (*session.Event, error) {
	e := &session.Event{Author: session.User}
	if text != "" {
		e = session.Message(text)
	}
	seen := map[string]bool{}
	find := func(id string, wantHeld bool) (session.Call, error) {
		var ids []string
		for _, c := range slices.Backward(waiting) {
			if c.ID != id {
				ids = append(ids, c.ID)
				continue
			}
			switch {
			case seen[id]:
				return c, exit.Usage.Errorf("call %s is answered twice", id)
			case wantHeld && !held(c):
				return c, exit.Usage.Errorf("call %s waits for its response: give it with --respond %s=JSON",
					id, id)
			case !wantHeld && held(c):
				return c, exit.Usage.Errorf("call %s waits for a yes or no: --approve %s or --decline %s", id,
					id, id)
			}
			seen[id] = true
			return c, nil
		}
		if len(ids) == 0 {
			return session.Call{}, exit.Usage.Errorf("no call of the session waits for an answer")
		}
		return session.Call{}, exit.Usage.Errorf("no call %q waits for an answer%s", id,
			yamlfile.Meant(id, ids))
	}
	for i, id := range slices.Concat(a.approve, a.decline) {
		if _, err := find(id, true); err != nil {
			return nil, err
		}
		e.Actions.Confirm(id, session.Confirmation{Confirmed: i < len(a.approve)})
	}
	for _, pair := range a.respond {
		id, text, _ := strings.Cut(pair, "=")
		c, err := find(id, false)
		if err != nil {
			return nil, err
		}
		value, err := jsonValue(text)
		schema, _ := c.Args["response_schema"].(map[string]any)
		switch typed, ok := typedValue(text, schema); {
		case !asks(c) || len(schema) == 0 || !simple(schema):
		case texts(schema):
			if _, quoted := value.(string); !quoted { // the text needs no quotes
				value = text
			}
			err = nil
		case ok: // as in the chat: a word of several choices, or yes and no
			value = typed
			err = nil
		}
		if err != nil {
			return nil, exit.Usage.Errorf("--respond %s=JSON: the text after = is not JSON: %w", id, err)
		}
		response, ok := value.(map[string]any)
		if !ok {
			response = map[string]any{"result": value}
		}
		attach(e, session.Respond(c.FunctionCall, response).Content.Parts)
	}
	return e, nil
}

// jsonValue returns the JSON value that a text is, with its numbers as they are.
func jsonValue(text string) (value any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the value")
	}
	return value, nil
}

// reportWaiting says on standard error which calls wait, and how to answer them. Its error is nil
// if none does, else one that ends the program with its own exit code.
func (p *program) reportWaiting(ctx context.Context, s *setup) error {
	calls, err := s.waiting(ctx)
	if err != nil || len(calls) == 0 {
		return err
	}
	for _, c := range calls {
		p.Note("waiting: %s", question(c))
		switch {
		case s.inMemory:
		case held(c):
			p.Note("  %s --approve %s    (or --decline %s)", p.again(s), quote(c.ID), quote(c.ID))
		default:
			p.Note("  %s --respond %s=%s", p.again(s), quote(c.ID), form(c))
		}
	}
	if s.inMemory {
		p.Note("no store is set, so the session ends here and nobody can answer; use --store sqlite:FILE, or runner chat")
	}
	if len(calls) == 1 {
		return exit.Waiting.Errorf("a call waits for an answer")
	}
	return exit.Waiting.Errorf("%d calls wait for an answer", len(calls))
}

// form says what an answer to a call is, in a command line.
func form(c session.Call) string {
	schema, _ := c.Args["response_schema"].(map[string]any)
	switch {
	case !asks(c) || len(schema) == 0:
		return "JSON"
	case texts(schema) && schema["enum"] == nil:
		return "TEXT"
	case texts(schema):
		return fmt.Sprintf("TEXT    (%s)", wanted(schema))
	case simple(schema):
		return fmt.Sprintf("JSON    (%s)", wanted(schema))
	}
	return "JSON    (of the schema " + eventtext.OneLine(eventtext.JSON(schema), 200) + ")"
}

// texts reports whether nothing but texts fit a schema.
func texts(schema map[string]any) bool {
	choices, _ := schema["enum"].([]any)
	others := slices.ContainsFunc(choices, func(choice any) bool { _, ok := choice.(string); return !ok })
	return !others && (schema["type"] == "string" || schema["type"] == nil && len(choices) > 0)
}

// again returns the command line that goes on with the session.
func (p *program) again(s *setup) string {
	words := []string{"runner", "run"}
	for _, flag := range []struct{ name, value string }{{"server", p.server}, {"config", p.ConfigFile},
		{"store", p.StoreName}, {"app", p.App}, {"user", p.User}, {"session", s.key.ID}} {
		if flag.value != "" {
			words = append(words, "--"+flag.name, quote(flag.value))
		}
	}
	return strings.Join(words, " ")
}

// quote returns a word as a shell takes it.
func quote(word string) string {
	if word != "" && strings.Trim(word,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
