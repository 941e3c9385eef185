package plugintest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// What the sections of a script are called.
const (
	turnsSection = "turns"
	modelSection = "model.yaml"
	toolsSection = "tools.yaml"
	stateSection = "state.yaml"
	keySection   = "session.yaml"

	logSection  = "log"
	liveSection = "live"
	endSection  = "state"
)

// conversation is a script that was read.
type conversation struct {
	archive *txtar.Archive
	agent   agent.Agent
	turns   []turn
	state   map[string]any
	key     session.Key
	now     time.Time // of the turns that follow; zero is the machine's clock
}

var (
	said = lazyregexp.New(`^(\S+): ?(.*)$`)
	does = lazyregexp.New(`^(\S+) (calls|commands) (\S+) *(\{.*\})?$`)
)

// parse reads a script.
func parse(data []byte) (*conversation, error) {
	c := &conversation{archive: txtar.Parse(data), key: key}
	seen := map[string]string{}
	for _, f := range c.archive.Files {
		if !slices.Contains([]string{turnsSection, modelSection, toolsSection, stateSection, keySection, logSection, liveSection, endSection}, f.Name) {
			return nil, fmt.Errorf("there is no section %q; there are turns, model.yaml, tools.yaml, state.yaml, session.yaml, and log, live, state for what comes out", f.Name)
		}
		if _, twice := seen[f.Name]; twice {
			return nil, fmt.Errorf("section %q stands twice", f.Name)
		}
		seen[f.Name] = string(f.Data)
	}
	for i, line := range strings.Split(seen[turnsSection], "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := c.line(line, seen[modelSection] != ""); err != nil {
			return nil, fmt.Errorf("turns, line %d: %w", i+1, err)
		}
	}
	if len(c.turns) == 0 {
		return nil, errors.New(`it has no turns; write what a user says into a section "-- turns --", as "user: Hello"`)
	}
	if err := fromYAML(seen[stateSection], &c.state); err != nil {
		return nil, fmt.Errorf("state.yaml: %w", err)
	}
	if err := c.named(seen[keySection]); err != nil {
		return nil, fmt.Errorf("session.yaml: %w", err)
	}
	tools, err := toolsOf(seen[toolsSection])
	if err != nil {
		return nil, fmt.Errorf("tools.yaml: %w", err)
	}
	rules := seen[modelSection]
	if rules == "" {
		c.agent = scripted(c.turns, tools)
		return c, nil
	}
	m, err := script.Parse(modelSection, []byte(rules))
	if err != nil {
		return nil, err
	}
	c.agent, err = llm.New(llm.Config{Name: "bot", Model: m, Tools: tools})
	return c, err
}

// line parses a line of the section turns.
func (c *conversation) line(line string, modelled bool) error {
	var e *session.Event
	author := ""
	if line[0] == '{' {
		e = new(session.Event)
		if err := e.UnmarshalJSON([]byte(line)); err != nil {
			return err
		}
		author = e.Author
		e.Seq = 0
	} else if m := does.FindStringSubmatch(line); m != nil {
		var args map[string]any
		if m[4] != "" {
			if err := json.Unmarshal([]byte(m[4]), &args); err != nil {
				return fmt.Errorf("%q: %w", m[4], err)
			}
		}
		author = m[1]
		switch commands := m[2] == "commands"; {
		case commands != (author == session.User):
			return errors.New("a user commands, and an agent calls")
		case commands:
			e = session.Command{Name: m[3], Args: args}.Event()
		default:
			part := &genai.Part{FunctionCall: &genai.FunctionCall{Name: m[3], Args: args}}
			e = &session.Event{Author: author, Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{part}}}
		}
	} else if m := said.FindStringSubmatch(line); m != nil && m[1] == "now" {
		return c.setNow(m[2])
	} else if m := said.FindStringSubmatch(line); m != nil {
		if author = m[1]; author == session.User {
			e = session.Message(m[2])
		} else {
			e = session.Reply(m[2])
		}
		e.Author = author
	} else {
		return fmt.Errorf(`what is %q? A line is "user: TEXT", "now: TIME", "user commands NAME {ARGS}", "bot: TEXT", "bot calls TOOL {ARGS}", or an event in JSON`, line)
	}
	switch {
	case author == "" || author == session.User:
		c.turns = append(c.turns, turn{what: line, input: e, now: c.now})
	case modelled:
		return fmt.Errorf("%s speaks by model.yaml; take the line, or that section, away", author)
	case len(c.turns) == 0:
		return errors.New("the first line is a user's")
	default:
		last := &c.turns[len(c.turns)-1]
		last.steps = append(last.steps, step{event: e})
	}
	return nil
}

// setNow sets the time of the turns that follow: a time, or how much later than the last one it is.
func (c *conversation) setNow(text string) error {
	now, err := time.Parse(time.RFC3339Nano, text)
	if later, isLater := strings.CutPrefix(text, "+"); isLater && !c.now.IsZero() {
		var d time.Duration
		d, err = time.ParseDuration(later)
		now = c.now.Add(d)
	}
	if err != nil {
		return fmt.Errorf(`now: %s: write a time, as in "now: 2026-11-24T12:00:00Z", and after one of these how much later it is, as in "now: +36h"`, text)
	}
	c.now = now
	return nil
}

// named takes the app, the user and the ID of the session from a section.
func (c *conversation) named(section string) error {
	var names struct{ App, User, ID string }
	if err := fromYAML(section, &names); err != nil {
		return err
	}
	c.key = session.Key{
		App:  cmp.Or(names.App, key.App),
		User: cmp.Or(names.User, key.User),
		ID:   cmp.Or(names.ID, key.ID),
	}
	return c.key.Check(true)
}

// toolsOf returns tools that answer what a section says.
func toolsOf(section string) ([]*tool.Tool, error) {
	var answers map[string]map[string]any
	if err := fromYAML(section, &answers); err != nil {
		return nil, err
	}
	var tools []*tool.Tool
	for name, answer := range answers {
		tools = append(tools, fixed(name, answer))
	}
	slices.SortFunc(tools, func(a, b *tool.Tool) int { return strings.Compare(a.Declaration.Name, b.Declaration.Name) })
	return tools, nil
}

// fromYAML decodes YAML as JSON is decoded, so that numbers are float64 as in a session.
func fromYAML(section string, v any) error {
	if strings.TrimSpace(section) == "" {
		return nil
	}
	data, err := yaml.YAMLToJSON([]byte(section))
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
