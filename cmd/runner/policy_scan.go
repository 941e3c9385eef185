package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

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

Lines are written as texts come. One may be of 256 MiB, and a longer one ends the scan; what a policy judges of a text is
up to its limits.max_bytes.
Empty lines are left out. A line that is wrong, such as one that is no JSON, has no answer; the others have theirs, and
the exit code is 2 at the end. If a text could not be judged, its action is what the policy's on_error says, and the
exit code 1. Of both the first ten are told with their numbers.`,
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
	answered := scanAnswers{program: p, name: in.name}
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
