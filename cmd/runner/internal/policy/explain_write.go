package policy

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

func (p *commands) writeExplanation(x policyExplanation) error {
	st := p.Style()
	what := string(x.Action)
	if x.Rule != "" && x.Action != policy.Allow {
		what += " by rule " + x.Rule
	}
	fmt.Fprintf(p.Out, "%s  %s\n", st.Bold(visible(what)),
		st.Dim(visible(fmt.Sprintf("(stage %s, policy %s, revision %s)", x.Stage, x.Policy, x.Revision))))
	if x.Message != "" && x.Asks == "" { // the question begins with it
		fmt.Fprintf(p.Out, "says    %s\n", visible(x.Message))
	}
	if x.Asks != "" {
		fmt.Fprintf(p.Out, "asks    %s\n", aligned(x.Asks))
	}
	if x.Error != "" {
		fmt.Fprintf(p.Out, "error   %s\n", visible(x.Error))
	}
	if len(x.Findings) > 0 {
		fmt.Fprintln(p.Out)
		w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "rule\taction\ttype\tby\tbytes\tscore\tview\ttext")
		for _, f := range x.Findings {
			action := string(f.Action)
			quote := quoted(f.Text)
			if f.Would != "" {
				action = fmt.Sprintf("%s (out of shadow: %s)", f.Action, f.Would)
			}
			if f.Reads != "" {
				quote += " reads " + quoted(f.Reads)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d-%d\t%.2f\t%s\t%s\n", visible(f.Rule), action, f.Type,
				visible(f.By), f.Start, f.End, f.Score, f.View, quote)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, f := range x.Files {
		said := ""
		if f.Said != f.Type {
			said = ", said to be " + f.Said
		}
		fmt.Fprintf(p.Out, "\nfile    %s: %s%s, %s", aligned(f.Name), visible(f.Type), visible(said), phrase.Count(int(f.Size), "byte"))
	}
	after := aligned(x.After)
	if x.Action == policy.Block {
		after = st.Dim("(it does not pass)")
	}
	if x.Files == nil {
		fmt.Fprintf(p.Out, "\nbefore  %s\nafter   %s", aligned(x.Before), after)
	}
	fmt.Fprintln(p.Out)
	for i, r := range x.Others {
		if i == 0 {
			fmt.Fprintln(p.Out)
		}
		fmt.Fprintln(p.Out, st.Dim(visible(fmt.Sprintf("rule %s: %s", r.Rule, r.Why))))
	}
	return nil
}

const maxQuote = 100

// quoted quotes a text, its middle left out if it is long.
func quoted(text string) string {
	if runes := []rune(text); len(runes) > maxQuote {
		return strconv.Quote(string(runes[:maxQuote/2])) + "…" + strconv.Quote(string(runes[len(runes)-maxQuote/2:]))
	}
	return strconv.Quote(text)
}

func aligned(text string) string { return strings.ReplaceAll(visible(text), "\n", "\n        ") }

// visible returns a text with what would not be seen of it, or could steer a terminal, as escapes.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == unicode.ReplacementChar && !strings.HasPrefix(text[i:], string(r)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			escaped := strconv.QuoteRune(r)
			b.WriteString(escaped[1 : len(escaped)-1])
		}
	}
	return b.String()
}
