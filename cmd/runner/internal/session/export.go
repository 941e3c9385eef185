package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/wholefile"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/trajectory"
)

// What sessions are written as.
const (
	asSession    = "session"
	asTrajectory = "trajectory"
	asEvalSet    = "evalset"
	asChat       = "chat"
	asATIF       = "atif"
)

var (
	exportForms = []string{asSession, asTrajectory, asEvalSet, asChat, asATIF}
	exportViews = []string{string(trajectory.Standing), string(trajectory.Live), string(trajectory.Log)}
)

// An export is what the flags of the command say.
type export struct {
	*commands
	query     *query
	all       bool
	format    string
	view      string
	agent     string
	eachAgent bool
	redact    []string
	noRedact  bool
	detect    []string
	maxString int
	file      string

	rewardFrom string
	chats      chats
	omitted    trajectory.Omitted
	without    int // sessions in which the agent did nothing
}

func (p *commands) exportCommand() *cobra.Command {
	x := &export{commands: p}
	cmd := &cobra.Command{
		Use:   "export [ID…]",
		Short: "Write sessions as JSON Lines, or in a form of other tools",
		Long: `Write sessions to standard output. With --all every session is written, in the order in which
they came into the store; --app and --user narrow that, and so do the flags of session list, which
choose sessions without --all, too. A session that is chosen is written whole.

--format says what is written:

  session     a session file: a line with the session, then a line for each event (default)
  trajectory  a line for each session: tool calls with their results, state changes, tokens,
              reasoning, final output, error
  evalset     one eval set of the Agent Development Kit, with a case for each session
  chat        a line for each session: the messages, as trainers of models read them, to the last of
              the assistant; with --config also the system instruction and the tools
  atif        a line for each session, in the Agent Trajectory Interchange Format 1.7

--view says of which events:

  log         all of them (the default of a session file); a trajectory marks what is rewound
  standing    without what a rewind voids (the default of the other forms); what a summary stands
              for is written as it was said
  live        those that count: the newest summary and what came after it

A session file of another view than the log can be imported as a session of its own: its events are
numbered again, a summary is a message, and what the left out events did to the state is in the
first line. What they did to the state that sessions share (app: and user: keys) is left out.

But for session files, the values of sensitive keys in arguments, results and state are redacted,
and long texts there are cut. A key is sensitive if it ends with one of these words:
` + strings.Join(trajectory.SensitiveKeys(), ", ") + `.
Texts in values are searched for such keys, too: JSON, URLs, headers, command lines. What people
and agents say is written as it is; with --detect, the guardrail's detectors take secrets
or personal data out of that and of values.

` + queryHelp,
		Example: `  runner session export --all --store sqlite:sessions.db > sessions.jsonl
  runner session export --all --store sqlite:sessions.db --format trajectory --each-agent
  runner session export --since 30d --denied --store sqlite:sessions.db --format trajectory
  runner session export ada --store sqlite:sessions.db --format evalset --file ada.evalset.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := x.check(cmd, args); err != nil {
				return exit.Usage.As(err)
			}
			return p.WithStore(cmd.Context(), false, func(svc session.Service, c *config.Config) error {
				if x.format == asChat {
					if err := x.openChats(cmd.Context(), c); err != nil {
						return err
					}
				}
				return x.run(cmd.Context(), svc, args)
			})
		},
	}
	x.query = queryFlags(cmd, session.Stored)
	f := cmd.Flags()
	f.BoolVar(&x.all, "all", false, "every session")
	cli.Choice(cmd, &x.format, "format", asSession, "", exportForms)
	cli.Choice(cmd, &x.view, "view", "", "", exportViews)
	f.StringVar(&x.agent, "agent", "", "only what the agent of this name did")
	f.BoolVar(&x.eachAgent, "each-agent", false, "write each agent on its own")
	f.StringSliceVar(&x.redact, "redact", nil, "redact the values of these `keys`, in place of the usual")
	f.BoolVar(&x.noRedact, "no-redact", false, "redact no keys")
	f.StringSliceVar(&x.detect, "detect", nil,
		"take out what the guardrail's detectors find, in all texts: `secrets`, pii (personal data), or both")
	f.IntVar(&x.maxString, "max-string", trajectory.DefaultMaxString,
		"cut texts in values to so many characters; -1 cuts none")
	f.StringVar(&x.rewardFrom, "reward", "",
		"the reward of each chat: `state:KEY`, or file:FILE with lines {\"session\":\"ID\",\"reward\":0.5}")
	f.StringVar(&x.file, "file", "", "write to this `file`; it is replaced once all is written")
	return cmd
}

// check returns an error if the flags do not go together.
func (x *export) check(cmd *cobra.Command, args []string) error {
	given := cmd.Flags().Changed
	switch {
	case x.all && len(args) > 0:
		return errors.New("--all and ids exclude each other")
	case x.query.given(cmd) && len(args) > 0:
		return errors.New("flags that choose sessions and ids exclude each other")
	case !slices.Contains(exportForms, x.format):
		return cli.CheckChoice("format", x.format, exportForms...)
	case x.view != "" && !slices.Contains(exportViews, x.view):
		return cli.CheckChoice("view", x.view, exportViews...)
	case x.agent != "" && x.eachAgent:
		return errors.New("--agent and --each-agent exclude each other")
	case given("redact") && x.noRedact:
		return errors.New("--redact and --no-redact exclude each other")
	case slices.ContainsFunc(x.detect, func(kind string) bool { return !slices.Contains(detectable, kind) }):
		return fmt.Errorf("--detect takes %s", strings.Join(detectable, " and "))
	case x.rewardFrom != "" && x.format != asChat:
		return errors.New("--reward is of a chat: --format chat")
	case x.maxString < 1 && x.maxString != trajectory.NoLimit:
		return errors.New("--max-string is at least 1, or -1 to cut no text")
	}
	x.all = x.all || x.query.given(cmd)
	if err := x.query.read(cmd); err != nil {
		return err
	}
	if x.format == asSession {
		for _, flag := range []string{"agent", "each-agent", "redact", "no-redact", "detect", "max-string"} {
			if given(flag) {
				return exit.Usage.Errorf("--%s is not of a session file, which has events as they are; "+
					"name another form with --format", flag)
			}
		}
	}
	return nil
}

func (x *export) run(ctx context.Context, svc session.Service, ids []string) (err error) {
	sessions, err := x.chosen(ctx, svc, ids)
	if err != nil {
		return err
	}

	// The file is replaced when all is written. If anything fails, it stays as it was.
	var out io.Writer = x.Out
	if x.file == "" && terminal.Closed(x.Stdout) {
		return exit.Other.As(errors.New("standard output is closed: send it somewhere, or use --file"))
	}
	switch {
	case x.file == "":
	case wholefile.Special(x.file):
		f, err := os.OpenFile(x.file, os.O_WRONLY, 0)
		if err != nil {
			return exit.Usage.Errorf("--file %s: %w", x.file, err)
		}
		defer f.Close() // what was written is there
		out = f
	default:
		// This block has no err of its own: the function that is deferred below reads the one that run returns.
		var f *os.File
		f, err = os.CreateTemp(filepath.Dir(x.file), "."+filepath.Base(x.file)+".*") // of mode 0600
		if err != nil {
			return exit.Usage.Errorf("--file %s: %w", x.file, err)
		}
		defer os.Remove(f.Name()) // nothing is there if it was renamed
		defer f.Close()           // again, if all went well
		out = f
		defer func() {
			if err == nil {
				err = exit.Other.As(errors.Join(f.Close(), os.Rename(f.Name(), x.file)))
			}
		}()
	}

	// The bar goes on with each event that is read.
	events := 0
	for _, s := range sessions {
		events += int(s.Position)
	}
	bar := x.Progress("export", events)
	defer bar.End()
	svc = counted{svc, bar}
	if x.format == asSession {
		for _, s := range sessions {
			if err := x.writeSession(ctx, svc, s.Key, out); err != nil {
				return exportError(err)
			}
		}
		return nil
	}
	if err := x.writeForms(ctx, svc, sessions, out); err != nil {
		return exportError(err)
	}
	bar.End()
	if left := x.omitted.String(); left != "" {
		x.Note("--format %s has no place for: %s", x.format, left)
	}
	x.noteChats()
	if x.without > 0 {
		x.Note("left out %s in which the agent %s did nothing", phrase.Count(x.without, "session"), x.agent)
	}
	return nil
}

// exportError says whether the store or the writing failed.
func exportError(err error) error {
	var out *terminal.OutputError
	var file *fs.PathError
	if errors.As(err, &out) || errors.As(err, &file) {
		return exit.Other.As(err)
	}
	return exit.Store.As(err)
}

// chosen returns the sessions that ids name, or all.
func (x *export) chosen(ctx context.Context, svc session.Service,
	ids []string) ([]*session.Session, error) {
	if x.all {
		hits, err := x.search(ctx, svc, x.query)
		var list []*session.Session
		for _, hit := range hits {
			list = append(list, hit.Session)
		}
		return list, err
	}
	keys, err := x.Find(ctx, svc, ids)
	if err != nil {
		return nil, err
	}
	list := make([]*session.Session, len(keys))
	for i, key := range keys {
		list[i], err = svc.Get(ctx, key)
		if err != nil {
			return nil, exit.Store.As(err)
		}
	}
	return list, nil
}

// counted tells a progress bar of each event that is read.
type counted struct {
	session.Service
	bar *terminal.Progress
}

// Read implements session.Reader.
func (c counted) Read(ctx context.Context, key session.Key,
	sel session.Selection) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		for e, err := range c.Service.Read(ctx, key, sel) {
			c.bar.Add()
			if !yield(e, err) {
				return
			}
		}
	}
}

// writeSession writes a session file of the view.
func (x *export) writeSession(ctx context.Context, svc session.Service, key session.Key,
	out io.Writer) error {
	view := trajectory.View(x.view)
	if view == "" || view == trajectory.Log {
		return session.Export(ctx, svc, key, out)
	}
	v, err := viewOf(ctx, svc, key, view)
	if err != nil {
		return err
	}
	return session.Export(ctx, v, key, out)
}

// writeForms writes the sessions in a form of other tools.
func (x *export) writeForms(ctx context.Context, svc session.Service, sessions []*session.Session,
	out io.Writer) (err error) {
	var set *trajectory.EvalSet
	if x.format == asEvalSet {
		set = trajectory.NewEvalSet(out, x.evalSetID(sessions))
	}
	for _, s := range sessions {
		if err := x.writeForm(ctx, svc, s.Key, set, out); err != nil {
			return err
		}
	}
	if set != nil {
		return set.Close()
	}
	return nil
}

// writeForm writes one session: of all agents, of one, or of each.
func (x *export) writeForm(ctx context.Context, svc session.Service, key session.Key,
	set *trajectory.EvalSet, out io.Writer) error {
	s, err := svc.Get(ctx, key) // a list has no states
	if err != nil {
		return err
	}
	c := trajectory.Config{
		View:          trajectory.View(x.view),
		Agent:         x.agent,
		MaxString:     x.maxString,
		NoRedaction:   x.noRedact,
		SensitiveKeys: x.redact,
		Detect:        x.detector(),
	}
	sel := session.Selection{Live: c.View == trajectory.Live}
	whole, err := trajectory.Read(s, svc.Read(ctx, key, sel), c)
	if err != nil {
		return err
	}
	if x.agent != "" && whole.Empty() {
		x.without++
		return nil
	}
	parts := []*trajectory.Extract{whole}
	if x.eachAgent {
		parts = nil
		for _, agent := range whole.Agents() {
			parts = append(parts, whole.Of(agent))
		}
	}
	for _, part := range parts {
		var omitted trajectory.Omitted
		var err error
		switch x.format {
		case asTrajectory:
			err = trajectory.WriteTrajectory(out, part)
		case asChat:
			omitted, err = trajectory.WriteChat(out, part, x.chatOf(ctx, s, part.Agents()))
		case asATIF:
			omitted, err = trajectory.WriteATIF(out, part)
		case asEvalSet:
			omitted, err = set.Add(part)
		}
		if err != nil {
			return err
		}
		x.omitted.Add(omitted)
	}
	return nil
}

// detectable are the rules of the default policy that --detect names.
var detectable = []string{"secrets", "pii"}

// detector returns what takes out of a text what --detect names, nil if that is nothing.
func (x *export) detector() func(string) string {
	if len(x.detect) == 0 {
		return nil
	}
	var rules []*policy.Policy
	for _, kind := range x.detect {
		rules = append(rules, policy.Default().Only(kind))
	}
	return func(text string) string {
		for _, rule := range rules {
			verdict := rule.Judge(policy.Output, policy.Scope{}, text)
			if verdict.Err != nil { // nobody knows what is in it
				return trajectory.Redacted
			}
			text = verdict.Text
		}
		return text
	}
}

// evalSetID returns what the kit finds the set by: the name of its file, that of the only session, or
// the app's.
func (x *export) evalSetID(sessions []*session.Session) string {
	name, isSet := strings.CutSuffix(filepath.Base(x.file), ".evalset.json")
	switch {
	case isSet:
		return name
	case len(sessions) == 1:
		return sessions[0].ID
	case len(sessions) > 0:
		return sessions[0].App
	}
	return "empty"
}
