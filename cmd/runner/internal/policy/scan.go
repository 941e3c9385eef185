package policy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	jsonstrict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

func (p *commands) scanCommand() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "scan",
		Short: "Judge texts: JSON Lines in, JSON Lines out",
		Long: `Read JSON Lines from standard input, judge each one's text, and write a line for
each to standard output, in their order:

  in   {"id":1,"text":"mail ann@corp.example","stage":"output"}
  out  {"id":1,"action":"redact","findings":[{"type":"EMAIL_ADDRESS","start":5,"end":21,"rule":"pii","score":1}],
        "text":"mail [EMAIL_ADDRESS]"}         (in one line)

id is any JSON value, and comes back as it is. stage is ` + strings.Join(stageNames(), ", ") + `; it is
input if it is missing. Other keys are ignored. The text is judged alone, without an app, a user, a tool and a state, so
rules with a scope, a condition or a window may find less in it than in a run.

start and end count bytes of the text in UTF-8. What is not Unicode, such as half of a surrogate pair, is read as U+FFFD,
which has three bytes. text is the text as it may pass. Of a blocked text it is what is left without the findings, and
empty if all of it was blocked. In shadow, findings are listed and nothing else happens. Without --policy, secrets and
personal data (except links and dates) are removed at every stage except prompt, and texts that look like an injected
instruction are flagged at input and tool_result. The key of hashes and vault tokens is random, and forgotten.

Each answer is written when its text has come. A line may have 256 MiB; a longer one ends the scan. How much of a text
is judged is the policy's limits.max_bytes. Empty lines are skipped. A line that is wrong, such as one that is not JSON,
has no answer; the others have theirs, and the exit code is 2. If a text cannot be judged, its action is the one of the
policy's on_error, and the exit code is 1. Of both, the first ten are named on standard error.`,
		Example: `  echo '{"id":1,"text":"mail ann@corp.example"}' | runner policy scan
  runner policy scan --policy policy.yaml < texts.jsonl > verdicts.jsonl`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.scan(cmd.Context(), file) },
	}
	cmd.Flags().StringVar(&file, "policy", "", policyUsage)
	return cmd
}

func (p *commands) scan(ctx context.Context, file string) error {
	pol, err := policyOf(ctx, file)
	if err != nil {
		return err
	}
	pol = p.local(pol)
	in := p.StandardInput(ctx)
	lines := bufio.NewReaderSize(in, 1<<16)
	answered := scanAnswers{Program: p.Program, name: in.Name}
	for n := 1; ; n++ {
		if waits(lines) { // whoever asked may not ask again before there is an answer
			if err := p.Out.Flush(); err != nil {
				return err
			}
		}
		line, err := lines.ReadBytes('\n')
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil && err != io.EOF {
			return exit.Usage.Errorf("%s:%d: %w", in.Name, n, err)
		}
		if n == 1 { // some editors begin a file so
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := answered.line(pol, n, line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return answered.end()
		}
	}
}

// waits reports whether there is no whole line to read without waiting for it.
func waits(r *bufio.Reader) bool {
	there, err := r.Peek(r.Buffered())
	return err == nil && !bytes.Contains(there, []byte{'\n'})
}

// scanInput is a line that policy scan reads.
type scanInput struct {
	ID    jsontext.Value `json:"id"`
	Text  *string        `json:"text"`
	Stage policy.Stage   `json:"stage"`
}

// readScanInput reads a line. What its other keys have does not matter: programs write all kinds of
// things beside a text. Its error does not quote the line.
func readScanInput(line []byte) (in scanInput, err error) {
	err = jsonstrict.Unmarshal(line, &in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	in.Stage = cmp.Or(in.Stage, policy.Input)
	_, isOtherKind := errors.AsType[*jsonstrict.SemanticError](err)
	switch {
	case isOtherKind:
		return in, errors.New(`this is no object with a text, and perhaps a stage, in quotes; write {"text": "…"}`)
	case err != nil:
		return in, errors.New(`this is not JSON; write an object on one line: {"text": "…"}`)
	case in.Text == nil:
		return in, errors.New(`text is missing; write "text": "…"`)
	case !slices.Contains(policy.Stages(), in.Stage):
		return in, fmt.Errorf("there is no such stage; write one of %s", strings.Join(stageNames(), ", "))
	case in.ID != nil && !in.ID.IsValid():
		return in, errors.New("id is not valid JSON: it is not Unicode, or has a key twice")
	}
	return in, nil
}

// scanLine is a line that policy scan writes.
type scanLine struct {
	ID       jsontext.Value `json:"id,omitzero"`
	Action   policy.Action  `json:"action"`
	Findings []scanFinding  `json:"findings"`
	Text     string         `json:"text"`
}

type scanFinding struct {
	Type  string  `json:"type"`
	Start int     `json:"start"`
	End   int     `json:"end"`
	Rule  string  `json:"rule"`
	Score float64 `json:"score"`
}

// maxReported is how many wrong lines are reported: input that is no JSON Lines at all has too
// many.
const maxReported = 10

// scanAnswers answers the lines of an input, and counts.
type scanAnswers struct {
	*cli.Program
	name                 string // of the input
	lines, wrong, failed int
}

// line answers the line of number n, if it can be.
func (a *scanAnswers) line(pol *policy.Policy, n int, line []byte) error {
	a.lines++
	in, err := readScanInput(line)
	if err != nil {
		a.wrong++
		return a.report(n, err)
	}
	v := pol.Judge(in.Stage, policy.Scope{}, *in.Text)
	if err := a.WriteJSON(scanAnswer(in.ID, v)); err != nil || v.Err == nil {
		return err
	}
	a.failed++
	return a.report(n, fmt.Errorf("the text could not be judged: %w", v.Err))
}

// report says on standard error what is wrong with a line, after the answers to those before it.
func (a *scanAnswers) report(n int, why error) error {
	if a.wrong+a.failed > maxReported {
		return nil
	}
	if err := a.Out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Err, eventtext.Printable(fmt.Sprintf("%s:%d: %v", a.name, n, why)))
	return err
}

// end returns the error that the scan ends with.
func (a *scanAnswers) end() error {
	var said []string
	end := exit.Other
	if a.wrong > 0 {
		end = exit.Usage
		said = append(said, phrase.Of(a.wrong, a.lines, "line", "is wrong, and has no answer", "are wrong, and have no answer"))
	}
	if a.failed > 0 {
		said = append(said, phrase.Of(a.failed, a.lines-a.wrong, "text", "could not be judged", "could not be judged"))
	}
	if said == nil {
		return nil
	}
	return end.Errorf("%s: %s", a.name, strings.Join(said, "; "))
}

func scanAnswer(id jsontext.Value, v policy.Verdict) scanLine {
	answer := scanLine{
		ID:       id,
		Action:   v.Action,
		Findings: make([]scanFinding, 0, len(v.Findings)),
		Text:     v.Text,
	}
	for _, f := range v.Findings {
		if f.Exception != "" {
			continue
		}
		answer.Findings = append(answer.Findings, scanFinding{
			Type:  f.Type,
			Start: f.Start,
			End:   f.End,
			Rule:  f.Rule,
			Score: f.Score,
		})
		// there is no part to take out
		if f.Action == policy.Block && (f.Type == "TEXT" || f.Type == "LENGTH") {
			answer.Text = ""
		}
	}
	return answer
}
