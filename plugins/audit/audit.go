// Package audit is a plugin that keeps a record of what agents did, for people who are accountable for it. The record is
// a file of JSON Lines, with one line for each event, and for the begin and the end of each invocation. A line says who,
// when, which tools, how large, how many tokens, what was denied or changed, by which plugin, and by which rule of a
// policy. It does not say what was said.
//
// # What a line promises
//
// The plugin is not an observer, because an observer may miss calls. Its hooks return when the line is in the file (and,
// with Sync "always", on the disk), and the runner appends an event only after that. So no event is in the log without
// its line, if the plugin is last in the list and is not wrapped in plugin.FailOpen. The reverse is not promised: a line
// says that an event was about to be appended. The append may have failed, or a plugin further down the list may have
// withheld the event. The ID of the event tells.
//
// If the line cannot be written (the disk is full, or the file was deleted and cannot be created again), the hook fails
// and the run ends: what cannot be recorded does not happen.
//
//	kind    says
//	event   an event is about to be appended: the input, or an event of an agent or a plugin
//	begin   the input is in the log and agents are about to run; an input that was withheld has no begin
//	end     how the invocation ended
//	hook    what interceptors of AGENT-HOOKS have decided at a point of a run (see Hooks)
//	repair  the last line was incomplete, because its writer died, and was removed
//
// # What is not in it
//
// Text, thoughts, arguments, responses, outputs of a workflow's nodes, values of the state, names of files and artifacts, and error messages. Names that
// models and clients choose (of a tool, a call, a node's run, a route, a state key, a code) are written only if they look like names: at most 128
// letters, digits and "._:/@#+-$". Otherwise their length is written. Of reasons, the first 200 bytes are written: the
// authors of plugins write them and must not quote (see plugin.Outcome). App, user and session are written in full,
// because a record has to say who.
//
// # Evidence
//
// Each line has its number n, and in prev the hash of the line before. So Verify finds lines that were changed, removed,
// added or moved. Without a key, the hash is the SHA-256 of the line without its line feed. Whoever can write the file can
// compute it, unless you keep the last hash in another place. With a key, it is an HMAC, which only holders of the key
// can compute. To find out that lines were removed at the end, compare with a number that you know.
//
// Several processes may write one file; they use a lock (flock). On systems other than Linux, macOS and the BSDs there is
// no lock, and only one process may write a file. The chain of hashes belongs to the file, not to the writer, and goes on
// after rotation, restarts and repairs.
//
// # Equal files
//
// A line contains no random values and no time of its own, but for those of the kind hook. Times are those of events; an end has the time of the
// invocation's last event. So two replays of a recording, with one session after the other and no plugin that adds events,
// write equal files, in process or in a process of its own. With Config.Clock they do not.
//
// A new thing to record: a field of the line in line.go. Verify (verify.go) covers it by itself, for it hashes whole lines.
package audit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Config says where the record is and how it is kept. Path is required.
type Config struct {
	Path     string `yaml:"path" json:"path" jsonschema:"the file; it is created with mode 0600, its directory must exist"`
	Sync     string `yaml:"sync" json:"sync,omitempty" jsonschema:"always (the default): a line is on the disk before its event is appended; rotate: lines are given to the operating system, which keeps them if the process dies but not if the machine does"`
	MaxBytes int64  `yaml:"max_bytes" json:"max_bytes,omitempty" jsonschema:"starts a new file when this one would become larger; no limit if not set"`
	MaxAge   string `yaml:"max_age" json:"max_age,omitempty" jsonschema:"starts a new file when the first line of this one is older, such as 720h; lines then say when they were written; no limit if not set"`
	Keep     int    `yaml:"keep" json:"keep,omitempty" jsonschema:"how many old files are kept; older ones are deleted; all if not set"`
	Clock    bool   `yaml:"clock" json:"clock,omitempty" jsonschema:"lines say when they were written, by this machine's clock; two replays then differ"`
	KeyFile  string `yaml:"key_file" json:"key_file,omitempty" jsonschema:"a file with a key of at least 16 bytes; with a key, lines have fingerprints of texts, and the chain of hashes needs the key"`
	KeyEnv   string `yaml:"key_env" json:"key_env,omitempty" jsonschema:"the environment variable with the key, instead of key_file"`
}

// New returns the plugin, named "audit". It returns an error if the configuration is invalid, if the file exists and
// cannot be written or has other content, or if its directory does not exist. New changes nothing: the first line creates
// the file, or repairs it. Put the plugin last in the list: it records events as they are at its place, and nothing that
// later plugins do. Close closes the file.
func New(c Config) (*plugin.Plugin, error) {
	s, err := c.settings()
	if err != nil {
		return nil, err
	}
	if err := probe(s.path); err != nil {
		return nil, err
	}
	f := newFile(s)
	a := &audit{file: f, keys: s.keys}
	return &plugin.Plugin{
		Name:      "audit",
		Doc:       "Writes a line for each event, begin and end of a run into a file, without what was said.",
		Partials:  true, // they are not recorded: the whole event follows
		OnEvent:   a.onEvent,
		BeforeRun: a.beforeRun,
		AfterRun:  a.afterRun,
		Close:     f.close,
	}, nil
}

// Hooks returns a function that writes the records of a host of AGENT-HOOKS (agenthost.Config.Keep) into the file of a
// plugin with the same Config: each a line of the kind hook, which has all of the record but messages. Close closes the
// file.
func Hooks(c Config) (
	keep func(context.Context, *session.Invocation, agenthooks.Record) error, closeFile func(context.Context) error, err error,
) {
	s, err := c.settings()
	if err != nil {
		return nil, nil, err
	}
	f := newFile(s)
	keep = func(ctx context.Context, inv *session.Invocation, r agenthooks.Record) error {
		l := newLine(inv, "hook")
		l.Time, _ = time.Parse(time.RFC3339, r.Timestamp)
		r.Verdict.Message = ""
		r.Verdict.Reason = reason(r.Verdict.Reason)
		r.Verdict.Warnings = slices.Clone(r.Verdict.Warnings)
		for i := range r.Verdict.Warnings {
			r.Verdict.Warnings[i] = agenthooks.Warning{Reason: reason(r.Verdict.Warnings[i].Reason)}
		}
		r.Verdicts = slices.Clone(r.Verdicts)
		for i := range r.Verdicts {
			r.Verdicts[i].Reason = reason(r.Verdicts[i].Reason)
		}
		l.Hook = &r
		return f.append(ctx, l)
	}
	return keep, f.close, nil
}

// settings is a Config that was checked.
type settings struct {
	Config
	path   string        // absolute
	maxAge time.Duration // 0 without a limit
	keys   *keys         // nil without a key
}

func (c Config) settings() (settings, error) {
	s := settings{Config: c}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("audit: "+format, args...)) }
	var err error
	if c.Path == "" {
		bad("there is no path; set path to the file of the record")
	} else {
		s.path, err = filepath.Abs(c.Path)
		if err != nil {
			bad("path: %w", err)
		}
	}
	if c.Sync != "" && c.Sync != "always" && c.Sync != "rotate" {
		bad("sync is %q; it must be always or rotate", c.Sync)
	}
	if c.MaxBytes < 0 {
		bad("max_bytes is %d; it must not be negative", c.MaxBytes)
	}
	if c.MaxAge != "" {
		s.maxAge, err = time.ParseDuration(c.MaxAge)
		if err != nil || s.maxAge <= 0 {
			bad("max_age is %q; it must be a duration above 0, such as 720h", c.MaxAge)
		}
	}
	if c.Keep < 0 {
		bad("keep is %d; it must not be negative", c.Keep)
	}
	if c.Keep > 0 && c.MaxBytes == 0 && c.MaxAge == "" {
		bad("keep is %d, but there is only one file; set max_bytes or max_age too", c.Keep)
	}
	s.keys, err = c.readKeys()
	if err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

type audit struct {
	file *file
	keys *keys
}

func (a *audit) onEvent(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
	if e.Partial {
		return plugin.Outcome{}, nil
	}
	l := newLine(inv, "event")
	l.event(e)
	text := e.Text()
	if text != "" && a.keys != nil {
		l.Fingerprint = a.keys.fingerprint(text)
	}
	return plugin.Outcome{}, a.file.append(ctx, l)
}

func (a *audit) beforeRun(ctx context.Context, inv *session.Invocation) (plugin.Outcome, error) {
	l := newLine(inv, "begin")
	l.Position = inv.Position
	if inv.Input != nil {
		l.Time = inv.Input.Timestamp.UTC()
	}
	return plugin.Outcome{}, a.file.append(ctx, l)
}

func (a *audit) afterRun(ctx context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
	l := newLine(inv, "end")
	l.Position = inv.Position
	l.Time = lastTime(inv)
	l.End = newEnd(end)
	return plugin.Outcome{}, a.file.append(ctx, l)
}
