package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin/plugintest"
	"github.com/plughook/plughook/plugin/plugintest/protocol"
	"github.com/plughook/plughook/plugin/remote"
)

// resultLine is a line of plugin verify.
type resultLine struct {
	Part     string  `json:"part"` // protocol, rule or script
	Case     string  `json:"case"`
	Result   string  `json:"result"` // ok, FAIL or skip
	Millis   float64 `json:"millis"`
	Reason   string  `json:"reason,omitzero"` // of skip
	Error    string  `json:"error,omitzero"`
	Why      string  `json:"why,omitzero"`
	duration time.Duration
}

// The results.
const (
	resultOK   = "ok"
	resultFail = "FAIL"
	resultSkip = "skip"
)

// report prints the result of a case, and counts it. wrong is nil if the plugin keeps the rule.
func (p *commands) report(v *verify, l resultLine, wrong error) error {
	switch {
	case wrong != nil:
		l.Result = resultFail
		l.Error = wrong.Error()
	case l.Reason != "":
		l.Result = resultSkip
	default:
		l.Result = resultOK
	}
	v.counts[l.Result]++
	l.Millis = float64(l.duration.Microseconds()) / 1000
	if p.JSONL {
		return p.WriteJSON(l)
	}
	line := fmt.Sprintf("%-4s  %-8s  %s", l.Result, l.Part, l.Case)
	st := p.Style()
	switch l.Result {
	case resultFail:
		line = st.Red(line) + "\n" + indented(l.Error) + "\n\n" + indented(l.Why) + "\n"
	case resultSkip:
		line = st.Dim(line + ": " + l.Reason)
	default:
		line += st.Dim(fmt.Sprintf("  %.1f ms", l.Millis))
	}
	_, err := fmt.Fprintln(p.Out, eventtext.Printable(line))
	return errors.Join(err, p.Out.Flush())
}

func indented(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ")
}

// verifyProtocol holds the plugin against the protocol.
func (p *commands) verifyProtocol(ctx context.Context, v *verify) error {
	for r := range protocol.Verify(ctx, v.config) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		l := resultLine{Part: "protocol", Case: r.Case, Reason: r.Skip, Why: r.Why, duration: r.Duration}
		if err := p.report(v, l, r.Err); err != nil {
			return err
		}
	}
	return nil
}

// try makes a case and reports its result.
func (p *commands) try(ctx context.Context, v *verify, l resultLine, do func() error) error {
	began := time.Now()
	err := do()
	l.duration = time.Since(began)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if skip, is := errors.AsType[plugintest.Skip](err); is {
		l.Reason = string(skip)
		err = nil
	}
	return p.report(v, l, err)
}

// verifyRules has the plugin go through the cases of plugintest, if it starts.
func (p *commands) verifyRules(ctx context.Context, v *verify) (started bool, err error) {
	plug, err := remote.Start(ctx, v.config)
	if err != nil {
		if v.counts[resultFail] > 0 { // that is said
			return false, nil
		}
		return false, exit.Plugin.As(err)
	}
	defer func() { _ = plug.Close(context.WithoutCancel(ctx)) }()
	for _, c := range plugintest.Cases() {
		l := resultLine{Part: "rule", Case: c.Name, Why: c.Why}
		if err := p.try(ctx, v, l, func() error { return c.Run(ctx, plug) }); err != nil {
			return true, err
		}
	}
	return true, nil
}

// verifyScripts plays scripts, each with a process of its own.
func (p *commands) verifyScripts(ctx context.Context, v *verify, files []string) error {
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return exit.Usage.As(err)
		}
		plug, err := remote.Start(ctx, v.config)
		if err != nil {
			return exit.Plugin.As(err)
		}
		l := resultLine{
			Part: "script",
			Case: file,
			Why:  "What comes out is not what the file says. If it is meant, --update (in Go: go test -update) writes it.",
		}
		err = p.try(ctx, v, l, func() error {
			out, err := plugintest.Play(ctx, data, plug)
			switch {
			case err != nil || bytes.Equal(out, data):
			case v.update:
				err = os.WriteFile(file, out, 0o644)
			default:
				err = errors.New(plugintest.Difference(data, out))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// verified sums up.
func (p *commands) verified(v *verify) error {
	ok := v.counts[resultOK]
	failed := v.counts[resultFail]
	skipped := v.counts[resultSkip]
	if !p.JSONL {
		fmt.Fprintf(p.Out, "\n%d ok, %d failed, %d skipped\n", ok, failed, skipped)
	}
	if failed > 0 {
		return exit.Plugin.Errorf("%s", phrase.Of(failed, ok+failed+skipped, "case", "failed", "failed"))
	}
	return nil
}
