package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	sessioncmd "github.com/plughook/plughook/cmd/runner/internal/session"
	"github.com/plughook/plughook/internal/eventtext"

	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/yamlfile"
)

// A chatCommand is what a line that begins with a slash does.
type chatCommand struct {
	name, args, help string
	outside          string // what does the same outside of a chat; "" if nothing does
	do               func(c *chat, ctx context.Context, args string) error
}

// notInChat returns an error if a message is a line that the chat would take for one of its commands.
func notInChat(message string) error {
	name, args, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(message), "/"), " ")
	if !strings.HasPrefix(message, "/") || strings.Contains(message, "\n") {
		return nil
	}
	for _, cmd := range chatCommands() {
		if cmd.name != name || args != "" && cmd.args == "" {
			continue
		}
		instead := "it works in runner chat"
		if cmd.outside != "" {
			instead = "use " + cmd.outside
		}
		return exit.Usage.Errorf("/%s is a command of the chat, and no message: %s; begin the message with two slashes to send it",
			name, instead)
	}
	return nil
}

func chatCommands() []chatCommand {
	return []chatCommand{
		{
			name:    "help",
			outside: "runner run --help",
			help:    "lists the commands",
			do:      (*chat).help,
		},
		{
			name:    "rewind",
			outside: "runner session rewind ID --turns N",
			args:    "[N]",
			help: "takes back the last N turns, 1 if there is no N; " +
				"/rewind undo takes back the last rewind",
			do: (*chat).rewind,
		},
		{
			name:    "compact",
			outside: "runner compact ID",
			args:    "[INSTRUCTIONS]",
			help: "puts a summary in place of what was said; " +
				"INSTRUCTIONS say what the summary must not leave out",
			do: (*chat).compact,
		},
		{
			name:    "continue",
			outside: "runner run --continue",
			help:    "says nothing, and goes on with what the session leaves open",
			do:      func(c *chat, ctx context.Context, _ string) error { return c.run(ctx, nil) },
		},
		{
			name:    "approve",
			outside: "runner run --approve CALL, or --decline",
			help:    "asks again about the calls and questions that wait",
			do:      (*chat).approve,
		},
		{
			name:    "state",
			outside: "runner session show ID",
			help:    "shows the session's state",
			do:      (*chat).state,
		},
		{
			name:    "show",
			outside: "runner session show ID",
			help:    "shows the session's events, as runner session show does",
			do:      (*chat).show,
		},
		{
			name:    "session",
			outside: "--session ID",
			args:    "[ID]",
			help:    "shows the session's id, or goes to another session",
			do:      (*chat).session,
		},
		{
			name:    "new",
			outside: "another --session",
			help:    "begins another session",
			do:      (*chat).renew,
		},
		{
			name: "quit",
			help: "ends the chat",
			do:   func(*chat, context.Context, string) error { return errQuit },
		},
	}
}

// chatHelp lists the commands for people.
func chatHelp() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cmd := range chatCommands() {
		fmt.Fprintf(w, "  /%s\t%s\n", strings.TrimSpace(cmd.name+" "+cmd.args), cmd.help)
	}
	_ = w.Flush() // into memory
	return b.String()
}

// complete returns what a line that is being typed can go on to: commands, and the ids of sessions.
func (c *chat) complete(ctx context.Context, line string) (list []string) {
	const most = 200 // ids that somebody looks through
	typed, wantsID := strings.CutPrefix(line, "/session ")
	if !wantsID {
		for _, cmd := range chatCommands() {
			if strings.HasPrefix("/"+cmd.name, line) && line != "" {
				list = append(list, "/"+cmd.name)
			}
		}
		return list
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for s, err := range c.set.sessions.List(ctx, c.set.key.App, c.set.key.User) {
		if err != nil || len(list) == most {
			break // what is there helps
		}
		if strings.HasPrefix(s.ID, typed) && eventtext.Printable(s.ID) == s.ID {
			list = append(list, "/session "+s.ID)
		}
	}
	return list
}

// command carries out a line that begins with a slash.
func (c *chat) command(ctx context.Context, line string) error {
	name, args, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	args = strings.TrimSpace(args)
	var names []string
	for _, cmd := range chatCommands() {
		if cmd.name == name {
			if args != "" && cmd.args == "" {
				return fmt.Errorf("/%s takes no arguments", name)
			}
			return cmd.do(c, ctx, args)
		}
		names = append(names, "/"+cmd.name)
	}
	return fmt.Errorf("unknown command %q%s (/help lists the commands; begin a message with two slashes to send one that begins with a slash)", "/"+name, yamlfile.Guess("/"+name, names))
}

func (c *chat) help(context.Context, string) error {
	_, err := fmt.Fprint(c.Out, chatHelp())
	return err
}

func (c *chat) rewind(ctx context.Context, args string) error {
	command := rewind.Turns(1)
	switch n, err := strconv.Atoi(args); {
	case args == "":
	case args == "undo":
		command = rewind.Undo()
	case err != nil || n < 1:
		return fmt.Errorf("/rewind %s: give the number of turns to take back, at least 1, or undo", args)
	default:
		command = rewind.Turns(n)
	}
	return c.send(ctx, command, "rewind", "rewind")
}

func (c *chat) compact(ctx context.Context, args string) error {
	return c.send(ctx, compaction.Now(args), "compact", "compaction")
}

// send runs a command, called name in the chat, that a plugin of this kind carries out.
func (c *chat) send(ctx context.Context, cmd session.Command, name, kind string) error {
	turn, done := c.Signals.During(ctx)
	defer done()
	err := c.print(turn, c.printer(false), c.set, cmd.Event())
	if errors.Is(err, runner.ErrCommand) {
		return fmt.Errorf("/%s needs \"- %s:\" under plugins: of the configuration", name, kind)
	}
	return err
}

func (c *chat) approve(ctx context.Context, _ string) error {
	clear(c.later)
	return c.settle(ctx)
}

func (c *chat) state(ctx context.Context, _ string) error {
	s, err := c.set.sessions.Get(ctx, c.set.key)
	if errors.Is(err, session.ErrNotFound) || err == nil && len(s.State) == 0 {
		_, err := fmt.Fprintln(c.Out, "the session has no state")
		return err
	}
	if err != nil {
		return err
	}
	return sessioncmd.ShowState(c.Program, s.State)
}

func (c *chat) show(ctx context.Context, _ string) error {
	err := sessioncmd.Show(ctx, c.Program, c.set.sessions, c.set.key, false)
	if errors.Is(err, session.ErrNotFound) {
		_, err = fmt.Fprintln(c.Out, "nothing was said yet")
	}
	return err
}

// session shows the session's id, or goes to the session of another one.
func (c *chat) session(ctx context.Context, id string) error {
	if id != "" {
		key := c.set.key
		key.ID = id
		if err := key.Check(false); err != nil {
			return err
		}
		if _, err := c.set.sessions.Get(ctx, key); errors.Is(err, session.ErrNotFound) {
			return fmt.Errorf("there is no session %s of this app and user; /new begins one", id)
		} else if err != nil {
			return err
		}
		c.set.key = key
		clear(c.later)
	}
	_, err := fmt.Fprintf(c.Out, "%s (app %s, user %s)\n", eventtext.Printable(c.set.key.ID),
		eventtext.Printable(c.set.key.App), eventtext.Printable(c.set.key.User))
	return err
}

func (c *chat) renew(context.Context, string) error {
	c.set.key.ID = session.NewID()
	clear(c.later)
	_, err := fmt.Fprintf(c.Out, "session %s\n", c.set.key.ID)
	return err
}
