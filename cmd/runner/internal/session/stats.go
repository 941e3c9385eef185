package session

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/stats"
)

// statistics are what the flags of session stats say.
type statistics struct {
	*commands
	by, since, until, zone, prices string
	csv                            bool
}

func (p *commands) statsCommand() *cobra.Command {
	x := &statistics{commands: p}
	var bys []string
	for _, by := range stats.Bys() {
		bys = append(bys, string(by))
	}
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Sum up what runs took and cost",
		Args:  cli.NoArgs,
		Long: `Sum up what the sessions of the store took: runs, tokens and their cost, tool calls and how they
ended, denials, compactions and the tokens that these saved. --app, --user and --session narrow which
sessions count, --since and --until which events.

--by groups the sums by day, model, agent, user, tool or kit: whose agent it was, of sessions of agents
in other programs, such as coding agents. A row says nothing of what all rows have none
of. With --csv and --jsonl each group is a line, with all numbers; without --by there is one line.

Everything in the log counts, also what was rewound or stands behind a summary: it was paid for. A
percentile is by nearest rank, and off by 0.2 % at most. In a table, TOKENS is of the tokens of a run,
and TIME of how long a run took, or with --by tool a call; those that have waited for somebody's answer
do not count there.

The cost comes from the prices that Plughook knows, with those of the configuration (prices:) and of
--prices FILE before them. A model that has no price there has no cost, and is named.`,
		Example: `  runner session stats --store sqlite:sessions.db
  runner session stats --store sqlite:sessions.db --by model --since 30d
  runner session stats --store sqlite:sessions.db --by day --csv > days.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if err := notEmpty(cmd, "by", "since", "until", "prices"); err != nil {
				return err
			}
			o, err := x.options(bys)
			if err != nil {
				return exit.Usage.As(err)
			}
			return p.WithStore(ctx, false, func(svc session.Service, c *config.Config) error {
				o.Prices, err = x.table(ctx, c.Prices())
				if err != nil {
					return exit.Usage.As(err)
				}
				report, err := x.read(ctx, svc, o)
				if err != nil {
					return exit.Store.As(err)
				}
				return x.print(report, o)
			})
		},
	}
	f := cmd.Flags()
	cli.Choice(cmd, &x.by, "by", "", "group by ", bys)
	f.BoolVar(&x.csv, "csv", false, "write comma-separated values")
	f.StringVar(&x.since, "since", "", "only what happened at this `TIME` or later: 2026-01-31, 2026-01-31T12:00:00Z, or an age such as 30d or 12h")
	f.StringVar(&x.until, "until", "", "only what happened before this `TIME`; a day is included")
	f.StringVar(&x.zone, "zone", "UTC", "the zone of days, such as Europe/Berlin")
	f.StringVar(&x.prices, "prices", "", "`file` with your own prices, as prices: of a configuration has them")
	return cmd
}

// options returns what the flags ask for, without the prices.
func (x *statistics) options(bys []string) (o stats.Options, err error) {
	if x.by != "" && !slices.Contains(bys, x.by) {
		return o, cli.CheckChoice("by", x.by, bys...)
	}
	if x.csv && x.JSONL {
		return o, exit.Usage.Errorf("--csv and --jsonl exclude each other")
	}
	o.By = stats.By(x.by)
	o.Kit = runner.AgentOutside
	o.Zone, err = time.LoadLocation(x.zone)
	if err != nil {
		return o, exit.Usage.Errorf("--zone: %w; a zone is named as in Europe/Berlin or UTC", err)
	}
	now := time.Now()
	o.Since, err = timeOf("--since", x.since, now, o.Zone, 0)
	if err != nil {
		return o, err
	}
	o.Until, err = timeOf("--until", x.until, now, o.Zone, 1)
	if err == nil && !o.Until.IsZero() && !o.Since.Before(o.Until) {
		err = exit.Usage.Errorf("--since is not before --until: there is nothing between them")
	}
	return o, err
}

// maxPrices bounds, in bytes, a file with prices.
const maxPrices = 1 << 20

// table returns the prices, with those of --prices before them.
func (x *statistics) table(ctx context.Context, t *prices.Table) (*prices.Table, error) {
	if x.prices == "" {
		return t, nil
	}
	data, err := input.ReadFile(ctx, x.prices, maxPrices)
	if err != nil {
		return nil, err
	}
	own, err := prices.Parse(x.prices, data)
	if err != nil {
		return nil, err
	}
	return t.With(own), nil
}

// read sums up the sessions that the flags leave in.
func (x *statistics) read(ctx context.Context, svc session.Service, o stats.Options) (*stats.Report, error) {
	list, err := x.Sessions(ctx, svc)
	if err != nil {
		return nil, err
	}
	events := 0
	for _, s := range list {
		events += int(s.Position)
	}
	bar := x.Progress("stats", events)
	defer bar.End()
	var sessions iter.Seq2[*session.Session, error] = func(yield func(*session.Session, error) bool) {
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
	}
	return stats.Of(ctx, counted{svc, bar}, sessions, o)
}

// print writes a report, and names the models that it has no price for.
func (x *statistics) print(r *stats.Report, o stats.Options) (err error) {
	groups := r.Groups
	if o.By == stats.All {
		groups = []stats.Group{{Sums: r.Total}}
	}
	switch {
	case x.JSONL:
		for _, g := range groups {
			if err := x.WriteJSON(statsLine(o.By, g, r.Currency)); err != nil {
				return err
			}
		}
	case x.csv:
		err = x.writeCSV(groups, o.By, r.Currency)
	case o.By == stats.All:
		err = x.writeSummary(r, o.Prices)
	default:
		err = x.writeTable(r, o.By)
	}
	if err != nil {
		return exit.Other.As(err)
	}
	var unknown []string
	for _, u := range r.Unpriced {
		name := cmp.Or(u.Model, "a model that the log does not name")
		unknown = append(unknown, fmt.Sprintf("%s (%s)", name, phrase.Count(int(u.Tokens), "token")))
	}
	if len(unknown) > 0 && o.By != stats.Tool {
		x.Note("no price is known for %s; --prices FILE or prices: of the configuration can say it",
			strings.Join(unknown, ", "))
	}
	return nil
}
