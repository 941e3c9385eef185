package session

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/adk"
	"github.com/plughook/plughook/session/adk/kitstore"
	"github.com/plughook/plughook/session/memory"
)

func (p *commands) importCommand() *cobra.Command {
	convert := false
	dry := false
	strict := false
	zone := ""
	cmd := &cobra.Command{
		Use:   "import FILE | DATABASE",
		Short: "Create sessions from a session file, or from another kit's store",
		Long: `Create the sessions of a session file ("-" is standard input) as they are in it, with their
times. A session is created whole or not at all. The first session that cannot be created ends the
import; those before it stay. An import can be repeated: it skips what is there already, and
completes a session that a killed import has left without its events. --app, --user and --session
narrow which sessions are taken. --dry-run says what would be imported, and what not, and writes
nothing.

It also reads what other kits of the Agent Development Kit's family keep, and knows it by its
content: an SQLite file or a PostgreSQL database (postgres://USER@HOST/DATABASE) of the Python or
the Go kit, and the JSON that their web page saves. What the kit has and a session here has not is
left out, and said. Actions that Python has pickled are read as data; nothing in them is executed.
Some versions of the Python kit store local times: --zone names the zone that they were written in,
such as Europe/Berlin. Without it, it is guessed from each session's time of update.

Compactions and rewinds of the Agent Development Kit, which name a range of time or an invocation,
become ours in an import from such a store. In a session file they have no effect unless --convert
turns them into ours. Those that cannot be are named.

A damaged SQLite file is refused. --strict refuses, too, what would be left out: the first session that
cannot be imported as the kit has it ends the import, and says why.

State keys that begin with the name of a plugin of the configuration are taken from events that
this plugin has written or changed, and refused from others.`,
		Args: cli.Args(1, 1, "which file? Name one session file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()

			// Open what is read.
			in, err := p.openImport(ctx, args[0], zone)
			if err != nil {
				return err
			}
			if in.close != nil {
				defer func() { err = errors.Join(err, in.close()) }()
			}
			in.convert = in.convert || convert
			in.strict = strict
			stop, err := in.begin()
			defer stop()
			if err != nil {
				return err
			}

			// Open what is written to.
			if dry {
				return p.tryImport(ctx, in)
			}
			svc, c, err := p.OpenKept(ctx, true)
			if err != nil {
				return err
			}
			defer cli.CloseStore(svc, &err)
			if err := p.importAll(ctx, svc, in, ownersIn(c), nil); err != nil {
				return err
			}
			return indexRest(ctx, svc)
		},
	}
	cmd.Flags().BoolVar(&convert, "convert", false,
		"turn other kits' compactions and rewinds in a session file into ours")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be imported, and write nothing")
	cmd.Flags().BoolVar(&strict, "strict", false, "refuse what cannot be imported whole, instead of leaving a part out")
	cmd.Flags().StringVar(&zone, "zone", "",
		"the zone of local times in another kit's store, such as Europe/Berlin")
	return cmd
}

// An importSource is what is imported from.
type importSource struct {
	name     string // for messages
	sessions iter.Seq2[*kitstore.Session, error]
	strict   bool            // whether what would be left out is an error
	convert  bool            // whether compactions and rewinds of other kits become ours
	left     func() []string // what is not imported beside the sessions, known after the last one; may be nil
	close    func() error    // may be nil
}

// begin reads the first session. If the file has none, the import fails before a store is created. The caller must
// call stop.
func (in *importSource) begin() (stop func(), err error) {
	next, stop := iter.Pull2(in.sessions)
	first, err, ok := next()
	if err != nil {
		return stop, exit.Usage.As(err)
	}
	in.sessions = func(yield func(*kitstore.Session, error) bool) {
		for s, err := first, error(nil); ok; s, err, ok = next() {
			if !yield(s, err) {
				return
			}
		}
	}
	return stop, nil
}

// openImport opens a file or a database, and finds out which of them it is.
func (p *commands) openImport(ctx context.Context, name, zone string) (*importSource, error) {
	var in *time.Location
	if zone != "" {
		location, err := time.LoadLocation(zone)
		if err != nil {
			return nil, exit.Usage.Errorf("--zone: %w; a zone is named as in Europe/Berlin or UTC", err)
		}
		in = location
	}
	if strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://") {
		db, err := kitstore.OpenPostgres(ctx, name, in)
		return p.importOf(ctx, "the PostgreSQL database", db, err)
	}
	if file, is := strings.CutPrefix(name, "sqlite:"); is {
		name = file
	}
	f, err := p.OpenInput(ctx, name)
	if err != nil {
		return nil, exit.Usage.As(err)
	}
	r := bufio.NewReaderSize(f, 1<<16)
	kind, err := cli.Recognize(f.Name, r)
	switch {
	case err != nil:
	case kind != cli.SQLiteFile && in != nil:
		err = fmt.Errorf("%s: --zone is for local times in another kit's database; the times of this file have their zone", f.Name)
	case kind == cli.SQLiteFile && name == "-":
		err = errors.New("standard input is an SQLite database, which is read from a file only: name the file")
	case kind == cli.SQLiteFile:
		_ = f.Close() // it was only read
		db, err := kitstore.OpenSQLite(ctx, name, in)
		return p.importOf(ctx, name, db, err)
	case kind == cli.WebFile:
		defer f.Close() // it was only read
		return p.importOfWeb(f.Name, r)
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, exit.Usage.As(err)
	}
	return &importSource{
		name:     f.Name,
		sessions: recordings(f.Name, r),
		close:    f.Close,
	}, nil
}

// importOf returns what is imported from another kit's database.
func (p *commands) importOf(ctx context.Context, name string, db *kitstore.Database,
	err error) (*importSource, error) {
	switch {
	case errors.Is(err, kitstore.ErrOwn):
		return nil, exit.Usage.Errorf("%s: %w; --store opens it, and runner session export writes a file that can be imported",
			name, err)
	case err != nil:
		return nil, exit.Usage.Errorf("%s: %w", name, err)
	}
	p.Note("%s is %s", name, db.Kind)
	return &importSource{
		name:     name,
		sessions: named(name, db.Sessions(ctx)),
		convert:  true,
		left:     db.Left,
		close:    db.Close,
	}, nil
}

// named yields sessions, and errors with the name of what they are read from.
func named(name string, sessions iter.Seq2[*kitstore.Session, error]) iter.Seq2[*kitstore.Session, error] {
	return func(yield func(*kitstore.Session, error) bool) {
		for s, err := range sessions {
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// maxWebFile bounds, in bytes, the file that a web page has saved.
const maxWebFile = 256 << 20

// importOfWeb returns what is imported from a session that a web page has saved.
func (p *commands) importOfWeb(name string, r io.Reader) (*importSource, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxWebFile+1))
	if err == nil && len(data) > maxWebFile {
		err = fmt.Errorf("it is larger than %d MiB, the limit", maxWebFile>>20)
	}
	if err != nil {
		return nil, exit.Usage.Errorf("%s: %w", name, err)
	}
	saved, err := kitstore.ReadWeb(data)
	if err != nil {
		return nil, exit.Usage.Errorf("%s is a session that a web page has saved, and cannot be read: %w", name, err)
	}
	p.Note("%s is a session that the Agent Development Kit's web page has saved", name)
	return &importSource{
		name:     name,
		sessions: func(yield func(*kitstore.Session, error) bool) { yield(saved, nil) },
		convert:  true,
	}, nil
}

// recordings yields the sessions of a session file.
func recordings(name string, r *bufio.Reader) iter.Seq2[*kitstore.Session, error] {
	return func(yield func(*kitstore.Session, error) bool) {
		for rec, err := range cli.Recordings(name, r) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&kitstore.Session{Recording: rec}, nil) {
				return
			}
		}
	}
}

// ownersIn returns the owners of state keys that a configuration's plugins are.
func ownersIn(c *config.Config) plugin.StateOwners {
	var plugins []*plugin.Plugin
	for _, pc := range c.Plugins() {
		plugins = append(plugins, &plugin.Plugin{Name: pc.Name})
	}
	return plugin.OwnersOf(plugins...)
}

// checkOwners returns an error if a recording writes state keys of the configured plugins, other than by events
// that these have written or changed.
func checkOwners(owners plugin.StateOwners, rec *session.Recording) error {
	if err := owners.CheckInitial(rec.State); err != nil {
		return fmt.Errorf("session %s: %w", rec.Key, err)
	}
	for _, e := range rec.Events {
		if err := owners.CheckEvent(e); err != nil {
			return fmt.Errorf("session %s: event %d: %w", rec.Key, e.Seq, err)
		}
	}
	return nil
}

// tryImport imports into memory, and shows what an import would do to the store.
func (p *commands) tryImport(ctx context.Context, in *importSource) (err error) {
	c, err := p.LoadConfig(ctx)
	if err != nil {
		return err
	}
	kept := session.Service(memory.New()) // if the store does not exist yet
	if where := cmp.Or(p.StoreName, c.Store()); where != "memory" && where != "memory:" {
		opened, _, err := p.OpenKept(ctx, false)
		switch {
		case err == nil:
			kept = opened
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	defer cli.CloseStore(kept, &err)
	trial := memory.New()
	defer cli.CloseStore(trial, &err)
	return p.importAll(ctx, trial, in, ownersIn(c), kept)
}

// notesShown is how many notes an import prints, unless it is a dry run.
const notesShown = 20

// importAll imports sessions. With kept it is a dry run: svc is thrown away, and kept is only looked at.
func (p *commands) importAll(ctx context.Context, svc session.Service, in *importSource,
	owners plugin.StateOwners, kept session.Reader) error {
	var sessions, events, there, notes int
	note := func(format string, args ...any) {
		if notes++; notes <= notesShown || kept != nil {
			p.Note(format, args...)
		}
	}
	defer func() {
		if notes > notesShown && kept == nil {
			p.Note("and %s more; --dry-run shows all", phrase.Count(notes-notesShown, "note"))
		}
		done := "imported"
		if kept != nil {
			done = "would import"
		}
		p.Note("%s %s, %s", done, phrase.Count(sessions, "session"), phrase.Count(events, "event"))
		if there > 0 {
			p.Note("already there: %s", phrase.Count(there, "session"))
		}
	}()
	for imported, err := range in.sessions {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return exit.Usage.As(err)
		}
		rec := imported.Recording
		if !p.Selects(rec.Key) {
			continue
		}

		// Make what another kit wrote ours, and say what is left out.
		lefts := imported.Left
		if in.convert {
			lefts = append(lefts, adk.Convert(rec)...)
		}
		if in.strict && len(lefts) > 0 {
			return exit.Usage.Errorf("%s: session %s is not imported with --strict: %s", in.name, rec.Key, strings.Join(lefts, "; "))
		}
		for _, left := range lefts {
			note("%s: session %s: %s", in.name, rec.Key, left)
		}
		if err := checkOwners(owners, rec); err != nil {
			return exit.Usage.Errorf("%s: %w", in.name, err)
		}

		// Bring it in.
		target := session.Reader(svc)
		if kept != nil {
			target = kept
		}
		was, err := target.Get(ctx, rec.Key)
		already := err == nil && (was.Position > 0 || len(rec.Events) == 0)
		if err := session.Import(ctx, svc, rec); err != nil {
			if errors.Is(err, session.ErrInvalid) || errors.Is(err, session.ErrIDReused) {
				return exit.Usage.Errorf("%s: %w", in.name, err)
			}
			return exit.Store.Errorf("%s: %w", in.name, err)
		}
		if already {
			there++
			continue
		}
		sessions++
		events += len(rec.Events)
		if kept != nil {
			if err := p.showImport(ctx, svc, rec.Key); err != nil {
				return err
			}
		}
	}
	if in.left != nil {
		lefts := in.left()
		if in.strict && len(lefts) > 0 {
			return exit.Usage.Errorf("%s: the sessions are imported, and with --strict this is an error: %s", in.name, strings.Join(lefts, "; "))
		}
		for _, left := range lefts {
			note("%s: %s", in.name, left)
		}
	}
	return nil
}

// showImport prints a session that would be imported, and frees its memory.
func (p *commands) showImport(ctx context.Context, svc session.Service, key session.Key) error {
	s, err := svc.Get(ctx, key)
	if err != nil {
		return err
	}
	if p.JSONL {
		err = p.WriteJSON(lineOf(s))
	} else {
		_, err = fmt.Fprintf(p.Out, "%s  %s, created %s, updated %s\n", eventtext.Printable(key.String()),
			phrase.Count(int(s.Position), "event"), s.Created.UTC().Format(time.DateTime),
			s.Updated.UTC().Format(time.DateTime))
	}
	if err != nil {
		return exit.Other.As(err)
	}
	return svc.Delete(ctx, key)
}
