package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/plughook/plughook/plugins/guardrail"
)

// scanLine is a line that policy scan writes.
type scanLine struct {
	ID       jsontext.Value   `json:"id,omitzero"`
	Action   guardrail.Action `json:"action"`
	Findings []scanFinding    `json:"findings"`
	Text     string           `json:"text"`
}

type scanFinding struct {
	Type  string  `json:"type"`
	Start int     `json:"start"`
	End   int     `json:"end"`
	Rule  string  `json:"rule"`
	Score float64 `json:"score"`
}

func (p *program) policyScanCommand() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use: "scan", Short: "Judge texts: JSON Lines in, JSON Lines out",
		Long: `Read JSON Lines from standard input, judge each one's text, and write a line for each to standard output, in their order:

  in   {"id":1,"text":"mail ann@corp.example","stage":"output"}
  out  {"id":1,"action":"redact","findings":[{"type":"EMAIL_ADDRESS","start":5,"end":21,"rule":"pii","score":1}],
        "text":"mail [EMAIL_ADDRESS]"}         (in one line)

id is any JSON value, and comes back as it is. stage is ` + strings.Join(stageNames(), ", ") + `; input if
it is not there. Other keys say nothing, whatever they have: the text is judged without an app, a user, a tool, a state,
and alone, so rules with a scope, a condition or a window may say less of it than of the same text in a run.

start and end are bytes of the text in UTF-8; what is no Unicode in it, such as half of a pair of surrogates, is read as
U+FFFD, which has three. text is the text as it may pass; of a blocked one it is what is left when
what was found is taken out, and nothing if all of it was blocked. In shadow, findings are told, and nothing else
happens. Without --policy secrets and personal data (but for links and dates) are taken out at every stage but
prompt, and what reads like an injected instruction is flagged at input and tool_result. The key of hashes and vault tokens is made up and forgotten.

Lines are written as texts come, and may be of 256 MiB; what a policy judges of a text is up to its limits.max_bytes.
Empty lines are left out. A line that is wrong ends the scan with its number and exit code 2; those before it have
been answered. If a text could not be judged, its action is what the policy's on_error says, and the exit code 1 at
the end.`,
		Example: `  echo '{"id":1,"text":"mail ann@corp.example"}' | runner policy scan
  runner policy scan --policy policy.yaml < texts.jsonl > verdicts.jsonl`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.scan(cmd.Context(), file) },
	}
	cmd.Flags().StringVar(&file, "policy", "", policyUsage)
	return cmd
}

func (p *program) scan(ctx context.Context, file string) error {
	pol, err := policyOf(ctx, file)
	if err != nil {
		return err
	}
	pol = p.local(pol)
	in := p.standardInput(ctx)
	lines := bufio.NewReaderSize(in, 1<<16)
	failed := 0
	var first error
	for n := 1; ; n++ {
		if waits(lines) { // whoever asked may not ask again before there is an answer
			if err := p.out.Flush(); err != nil {
				return err
			}
		}
		line, err := lines.ReadBytes('\n')
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil && err != io.EOF {
			return exitUsage.errorf("%s:%d: %w", in.name, n, err)
		}
		if n == 1 { // some editors begin a file so
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			s, err := scannedLine(line)
			if err != nil {
				return exitUsage.errorf("%s:%d: %w", in.name, n, err)
			}
			v := pol.Judge(s.stage, guardrail.Scope{}, s.text)
			if v.Err != nil {
				failed++
				first = cmp.Or(first, exitOther.errorf("%s:%d: the text could not be judged: %w", in.name, n, v.Err))
			}
			if err := p.writeJSON(scanAnswer(s.id, v)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
	}
	if failed > 1 {
		return exitOther.errorf("%w; %d more could not be judged", first, failed-1)
	}
	return first
}

// waits reports whether there is no whole line to read without waiting for it.
func waits(r *bufio.Reader) bool {
	there, err := r.Peek(r.Buffered())
	return err == nil && !bytes.Contains(there, []byte{'\n'})
}

func scanAnswer(id jsontext.Value, v guardrail.Verdict) scanLine {
	answer := scanLine{ID: id, Action: v.Action, Findings: make([]scanFinding, 0, len(v.Findings)), Text: v.Text}
	for _, f := range v.Findings {
		answer.Findings = append(answer.Findings, scanFinding{f.Type, f.Start, f.End, f.Rule, f.Score})
		if f.Action == guardrail.Block && (f.Type == "TEXT" || f.Type == "LENGTH") { // there is no part to take out
			answer.Text = ""
		}
	}
	return answer
}
