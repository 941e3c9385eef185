// Package logger is a plugin that writes a log record for each thing that happens in a run: its
// begin, each event, each model call, its end. The records say what kind of thing it was, not what
// was said.
//
// A new attribute of the records: logger.go, where the hook logs.
package logger

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Config says what a logger writes. The zero Config is ready.
type Config struct {
	// Content adds what was said to the records, as JSON text: texts, the arguments of calls, their
	// responses, and the outputs of a workflow's nodes.
	Content bool `yaml:"content" json:"content,omitempty" jsonschema:"write what was said into the records too; off unless set"`
	// Log takes the records, at the level Info. nil is slog.Default().
	Log *slog.Logger `yaml:"-" json:"-"`
}

// New returns the plugin. It is an observer, named "logger": put it last in the list, or it sees
// events that a later plugin changes or withholds. The error is always nil.
func New(c Config) (*plugin.Plugin, error) {
	l := &logger{Config: c, log: cmp.Or(c.Log, slog.Default())}
	return &plugin.Plugin{
		Name:        "logger",
		Doc:         "Writes a log record for each event, model call, begin and end of a run.",
		Observer:    true,
		BeforeRun:   l.beforeRun,
		BeforeModel: l.beforeModel,
		OnEvent:     l.onEvent,
		AfterRun:    l.afterRun,
	}, nil
}

type logger struct {
	Config
	log *slog.Logger
}

func (l *logger) record(ctx context.Context, inv *session.Invocation, msg string,
	attrs ...slog.Attr) (plugin.Outcome, error) {
	all := append([]slog.Attr{slog.String("session", inv.Key.String()),
		slog.String("invocation", inv.ID)}, attrs...)
	l.log.LogAttrs(ctx, slog.LevelInfo, msg,
		slices.DeleteFunc(all, func(a slog.Attr) bool { return a.Value.String() == "" })...)
	return plugin.Outcome{}, nil
}

func (l *logger) beforeRun(ctx context.Context, inv *session.Invocation) (plugin.Outcome, error) {
	return l.record(ctx, inv, "run begins", slog.Int64("position", inv.Position),
		slog.Int("live", len(inv.Live)))
}

func (l *logger) beforeModel(ctx context.Context, inv *session.Invocation,
	req *model.Request) (plugin.Outcome, error) {
	return l.record(ctx, inv, "model is called", slog.String("model", req.Model),
		slog.Int("contents", len(req.Contents)))
}

func (l *logger) onEvent(ctx context.Context, inv *session.Invocation,
	e *session.Event) (plugin.Outcome, error) {
	attrs := []slog.Attr{slog.String("event", e.ID), slog.String("author", e.Author),
		slog.String("branch", e.Branch),
		slog.String("parts", strings.Join(parts(e), " ")),
		slog.String("state", strings.Join(slices.Sorted(maps.Keys(e.Actions.StateDelta)), " ")),
		slog.String("node", node(e)),
		slog.String("error_code", e.ErrorCode)}
	if l.Content && e.Content != nil {
		attrs = append(attrs, slog.String("content", text(e.Content)))
	}
	if l.Content && e.Output != nil {
		attrs = append(attrs, slog.String("output", text(e.Output)))
	}
	return l.record(ctx, inv, "event", attrs...)
}

func (l *logger) afterRun(ctx context.Context, inv *session.Invocation,
	end plugin.End) (plugin.Outcome, error) {
	attrs := []slog.Attr{slog.String("end", string(end.Kind)), slog.String("plugin", end.Plugin),
		slog.String("reason", end.Reason)}
	if end.Err != nil {
		attrs = append(attrs, slog.String("error", end.Err.Error()))
	}
	return l.record(ctx, inv, "run ended", attrs...)
}

// node returns the path of the run of a workflow's node that an event is of, "" if it is of none.
func node(e *session.Event) string {
	if e.NodeInfo == nil {
		return ""
	}
	return e.NodeInfo.Path
}

// text returns what was said as JSON text, which every handler writes as it is.
func text(said any) string {
	var b strings.Builder
	encode := json.NewEncoder(&b)
	encode.SetEscapeHTML(false) // for people
	if err := encode.Encode(said); err != nil {
		return "it is not JSON: " + err.Error()
	}
	return strings.TrimSpace(b.String())
}

// parts names the kinds of an event's parts, and of its actions that change what earlier events
// count for.
func parts(e *session.Event) []string {
	var kinds []string
	add := func(is bool, kind string) {
		if is {
			kinds = append(kinds, kind)
		}
	}
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			if p != nil {
				add(p.Thought, "thought")
				add(p.Text != "" && !p.Thought, "text")
				add(p.FunctionCall != nil, "functionCall")
				add(p.FunctionResponse != nil, "functionResponse")
				add(p.InlineData != nil, "inlineData")
				add(p.FileData != nil, "fileData")
				add(p.ExecutableCode != nil, "executableCode")
				add(p.CodeExecutionResult != nil, "codeExecutionResult")
			}
		}
	}
	add(e.Output != nil, "output")
	add(e.Actions.Route != nil, "route")
	add(e.NodeInfo != nil && e.NodeInfo.Ended, "ended")
	add(e.Actions.Compaction != nil, "compaction")
	add(e.Actions.Rewind != nil, "rewind")
	return kinds
}
