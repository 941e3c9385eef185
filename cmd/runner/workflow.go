package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/session"
)

func (p *program) workflowCommand() *cobra.Command {
	format := "mermaid"
	graph := &cobra.Command{
		Use:   "graph",
		Short: "Draw the configured workflow",
		Args:  cli.NoArgs,
		Long: `Draw the workflow that the configuration's agent is, as Mermaid, which many pages and editors
show as a picture, or as DOT, for Graphviz. Workflows in its nodes are drawn inside of these.

With --session, each node says how far the latest run of the workflow in the session has come with
it: how often it has run and was tried, and whether it is completed, failed, waiting for an answer,
answered, or was cut off (unclear). A program draws a workflow that is written in Go with
workflow.PictureOf.`,
		Example: `  runner workflow graph --config examples/workflow/runner.yaml
  runner workflow graph --store sqlite:sessions.db --session ada --format dot | dot -Tsvg > ada.svg`,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.drawWorkflow(cmd.Context(), format) },
	}
	graph.Flags().StringVar(&format, "format", format, "mermaid or dot")
	return cli.Group(&cobra.Command{Use: "workflow", Short: "Draw the configured workflow"}, graph)
}

func (p *program) drawWorkflow(ctx context.Context, format string) error {
	if err := cli.CheckChoice("format", format, "mermaid", "dot"); err != nil {
		return err
	}
	c, err := p.NeedConfig(ctx)
	if err != nil {
		return err
	}
	g := c.Graph()
	if g == nil {
		return exit.Usage.Errorf("%s: the agent is no workflow; write agent: {workflow: …}", c.Name())
	}
	var run *session.WorkflowRun
	if p.Session != "" {
		if run, err = p.latestRun(ctx, c, g.Name); err != nil {
			return err
		}
	}
	if format == "dot" {
		return g.DOT(p.Out, run)
	}
	return g.Mermaid(p.Out, run)
}

// latestRun returns the session's latest run of a workflow, nil if there is none.
func (p *program) latestRun(ctx context.Context, c *config.Config, name string) (run *session.WorkflowRun, err error) {
	err = p.WithStore(ctx, false, func(sessions session.Service, _ *config.Config) error {
		key := p.Key(c)
		if _, err := sessions.Get(ctx, key); err != nil {
			return exit.Store.As(err)
		}
		live, err := session.ReadAll(ctx, sessions, key, session.Selection{Live: true})
		if err != nil {
			return exit.Store.As(err)
		}
		for _, w := range session.NewWorkflowRuns(live).Workflows() {
			if strings.HasPrefix(w.Path, name+"@") {
				run = w
			}
		}
		return nil
	})
	return run, err
}
