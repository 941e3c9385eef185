package audit

import (
	"context"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Config says where the record is and how it is kept. Path is needed.
type Config struct {
	Path     string `yaml:"path" json:"path" jsonschema:"the file; it is made with mode 0600, its directory must be there"`
	Sync     string `yaml:"sync" json:"sync,omitempty" jsonschema:"always (the default): a line is on the disk before its event is appended; rotate: lines are given to the system, which survives the death of the process and not that of the machine"`
	MaxBytes int64  `yaml:"max_bytes" json:"max_bytes,omitempty" jsonschema:"a file that would grow beyond it is put aside, and another one begun; no limit if it is not set"`
	MaxAge   string `yaml:"max_age" json:"max_age,omitempty" jsonschema:"a file whose first line is older, such as 720h, is put aside; lines then say when they were written. No limit if it is not set"`
	Keep     int    `yaml:"keep" json:"keep,omitempty" jsonschema:"how many files that were put aside are kept; older ones are deleted. All if it is not set"`
	Clock    bool   `yaml:"clock" json:"clock,omitempty" jsonschema:"lines say when they were written, by this machine's clock; two replays then differ"`
	KeyFile  string `yaml:"key_file" json:"key_file,omitempty" jsonschema:"a file with a key of at least 16 bytes; with a key, lines have fingerprints of texts, and the chain of hashes needs the key"`
	KeyEnv   string `yaml:"key_env" json:"key_env,omitempty" jsonschema:"the environment variable with the key, in place of key_file"`
}

// New returns the plugin, named "audit", or an error if the configuration cannot be, the file is there and
// cannot be written or is not one of this plugin, or its directory is not there. It changes nothing: the first
// line makes the file, or repairs it. Put it last in the list: it sees what is left of an event, and nothing
// of what plugins after it do. Wrapped in plugin.FailOpen it may miss lines. Close closes the file.
func New(c Config) (*plugin.Plugin, error) {
	s, err := c.settings()
	if err != nil {
		return nil, err
	}
	if err := probe(s.path); err != nil {
		return nil, err
	}
	f := newFile(s)
	a := &audit{f, s.key}
	return &plugin.Plugin{
		Name: "audit", Doc: "Writes a line for each event, begin and end of a run into a file, without what was said.",
		Partials: true, // it lets them pass: the whole event follows
		OnEvent:  a.onEvent, BeforeRun: a.beforeRun, AfterRun: a.afterRun, Close: f.close,
	}, nil
}

type audit struct {
	file *file
	key  *keys
}

func (a *audit) onEvent(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
	if e.Partial {
		return plugin.Outcome{}, nil
	}
	l := about(inv, "event")
	l.event(e)
	if text := e.Text(); text != "" && a.key != nil {
		l.Fingerprint = a.key.fingerprint(text)
	}
	return plugin.Outcome{}, a.file.append(ctx, l)
}

func (a *audit) beforeRun(ctx context.Context, inv *session.Invocation) (plugin.Outcome, error) {
	l := about(inv, "begin")
	l.Position = inv.Position
	if inv.Input != nil {
		l.Time = inv.Input.Timestamp.UTC()
	}
	return plugin.Outcome{}, a.file.append(ctx, l)
}

func (a *audit) afterRun(ctx context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
	l := about(inv, "end")
	l.Position = inv.Position
	l.Time = lastTime(inv)
	l.End = ended(end)
	return plugin.Outcome{}, a.file.append(ctx, l)
}
