package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/hooks/coding"
	"github.com/plughook/plughook/hooks/dialect"
	"github.com/plughook/plughook/hooks/settings"
	"github.com/plughook/plughook/session"
)

func (p *program) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say which hooks are installed, and whether they work",
		Long: `Doctor looks at the settings of each agent, here and the user's own: which events have a hook, whether its
program is there, and what the agent wants to be done before it starts one. It judges a harmless call and
says how long that took, and when each agent last told something. It changes nothing in the settings. The
exit code is 2 if something that is installed cannot work.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context()) },
	}
}

func (p *program) doctor(ctx context.Context) error {
	directory, err := os.Getwd()
	if err != nil {
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	wrong, found := false, false
	for _, name := range dialect.Agents() {
		for _, project := range []string{directory, ""} {
			file, err := settings.File(name, project, home)
			if err != nil {
				return err
			}
			events, commands, err := settings.Installed(name, file)
			if err != nil {
				fmt.Fprintf(p.Out, "%-8s %s: %v\n", name, file, err)
				wrong = true
				continue
			}
			if len(events) == 0 {
				continue
			}
			found = true
			fmt.Fprintf(p.Out, "%-8s %s: %s\n", name, file, strings.Join(events, ", "))
			for _, program := range programs(commands) {
				if info, err := os.Stat(program); err != nil || info.Mode()&0o111 == 0 {
					fmt.Fprintf(p.Out, "         %s cannot be started: install again\n", program)
					wrong = true
				}
			}
			for _, config := range configs(commands) {
				if _, err := os.Stat(config); err != nil {
					fmt.Fprintf(p.Out, "         its configuration %s is not there, so every call is refused: install again\n", config)
					wrong = true
				}
			}
			in, err := dialect.InstallationOf(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(p.Out, "         %s\n", in.After)
		}
	}
	if !found {
		fmt.Fprintln(p.Out, "No hooks are installed here: runner hook install "+strings.Join(dialect.Agents(), "|"))
		return nil
	}
	if err := p.tryOut(ctx); err != nil {
		fmt.Fprintf(p.Out, "A harmless call could not be judged, so every call is refused: %v\n", err)
		wrong = true
	}
	if own, err := userDirectory(); err == nil {
		if _, err := os.Stat(filepath.Join(own, failures)); err == nil {
			fmt.Fprintf(p.Out, "Why hooks could not decide: %s\n", filepath.Join(own, failures))
		}
	}
	if wrong {
		return exit.Usage.Errorf("hooks do not work: see above")
	}
	return nil
}

// programs returns the programs that commands start.
func programs(commands []string) (names []string) {
	for _, command := range commands {
		_, rest, _ := strings.Cut(command, `"`)
		name, _, found := strings.Cut(rest, `"`)
		if found && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// configs returns the configurations that commands name, as install writes them.
func configs(commands []string) (names []string) {
	for _, command := range commands {
		_, rest, found := strings.Cut(command, ` --config '`)
		name := strings.TrimSuffix(strings.TrimSuffix(rest, " || exit 2"), "'")
		name = strings.ReplaceAll(name, `'\''`, "'")
		if found && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// tryOut judges a harmless call, by a server or in this process, and says when agents last told something.
func (p *program) tryOut(ctx context.Context) error {
	id := "doctor-" + session.NewID()
	in := coding.Input{
		Agent:   "claude",
		Event:   "PreToolUse",
		Payload: []byte(`{"hook_event_name":"PreToolUse","session_id":"` + id + `","cwd":"/","tool_name":"Bash","tool_input":{"command":"ls"}}`),
	}
	began := time.Now()
	reply, err := coding.Forward(p.socket, in)
	switch {
	case err == nil:
		fmt.Fprintf(p.Out, "A server answers at %s: ls took %.1f ms, exit %d\n", p.socket, milliseconds(began), reply.Exit)
	case !errors.Is(err, coding.ErrNoServer):
		return err
	}
	began = time.Now()
	h, stop, err := p.host(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stop() }()
	if reply, err = h.Answer(ctx, in); err != nil {
		return err
	}
	if err := h.Sessions.Delete(ctx, session.Key{App: h.App, User: h.User, ID: in.Agent + "-" + id}); err != nil {
		return err
	}
	fmt.Fprintf(p.Out, "Without a server: ls took %.1f ms, exit %d\n", milliseconds(began), reply.Exit)
	return p.lastTold(ctx, h)
}

func milliseconds(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

// lastTold says when each agent last told something: a hook that is installed and does not fire is the most common fault.
func (p *program) lastTold(ctx context.Context, h coding.Host) error {
	last := map[string]time.Time{}
	for s, err := range h.Sessions.List(ctx, h.App, h.User) {
		if err != nil {
			return err
		}
		agent, rest, _ := strings.Cut(s.ID, "-")
		if slices.Contains(dialect.Agents(), agent) && !strings.HasPrefix(rest, "doctor-") && s.Updated.After(last[agent]) {
			last[agent] = s.Updated
		}
	}
	for _, name := range dialect.Agents() {
		if when, ok := last[name]; ok {
			fmt.Fprintf(p.Out, "%-8s last told something %s ago\n", name, time.Since(when).Round(time.Second))
		}
	}
	return nil
}
