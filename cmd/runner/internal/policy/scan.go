package policy

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/spf13/cobra"
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
