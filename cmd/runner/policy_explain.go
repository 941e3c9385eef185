package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/plugins/guardrail"
	guardview "github.com/plughook/plughook/plugins/guardrail/view"
)

// policyExplanation is what policy explain writes.
type policyExplanation struct {
	Policy   string             `json:"policy"`
	Revision string             `json:"revision"`
	Stage    guardrail.Stage    `json:"stage"`
	Action   guardrail.Action   `json:"action"`
	Rule     string             `json:"rule,omitzero"`
	Message  string             `json:"message,omitzero"`
	Findings []explainedFinding `json:"findings"`
	Others   []explainedRule    `json:"others"`
	Before   string             `json:"before"`
	After    string             `json:"after"` // "" of what is blocked
	Error    string             `json:"error,omitzero"`
}

type explainedFinding struct {
	Rule   string           `json:"rule"`
	Action guardrail.Action `json:"action"`
	Would  guardrail.Action `json:"would_action,omitzero"`
	Type   string           `json:"type"`
	By     string           `json:"by,omitzero"`
	Start  int              `json:"start"`
	End    int              `json:"end"`
	Score  float64          `json:"score"`
	View   string           `json:"view"`
	Text   string           `json:"text"`
	Reads  string           `json:"reads,omitzero"` // as it is in the view
}

// explainedRule is one that found nothing.
type explainedRule struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

func (p *program) policyExplainCommand() *cobra.Command {
	file, inJSON := "", false
	pl := &place{}
	cmd := &cobra.Command{
		Use: "explain [TEXT]", Short: "Say what a policy makes of a text, and why",
		Long: `Judge a text ("-" is standard input, without the line feed at its end) and say what becomes of it: which rules find what
in it, where and how surely; in which view of the text, where it is disguised; what the text becomes; and of the other
rules why they find nothing. The text is quoted, but for characters that could steer a terminal.

--app and --user are whose text it is, the other flags what rules can ask about beside; what is not given is empty.
The text is judged alone: nothing was said before it. Without TEXT it is the arguments, --args, as a rule without a
detector sees them. In a run each text in the arguments is judged, with its key before it; "policy replay" shows that.`,
		Example: `  runner policy explain "my card is 4111 1111 1111 1111"
  runner policy explain --policy policy.yaml --stage tool_args --tool shell --args '{"command":"rm -rf /"}'
  runner policy explain --stage tool_result --tool fetch - < page.txt`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			stage, scope, err := pl.of(p)
			if err != nil {
				return err
			}
			text, err := p.textOf(cmd.Context(), args, pl.args)
			if err != nil {
				return err
			}
			pol, err := policyOf(cmd.Context(), file)
			if err != nil {
				return err
			}
			x := explained(p.local(pol), stage, scope, text)
			if inJSON || p.jsonl {
				return p.writeJSON(x)
			}
			return p.writeExplanation(x)
		},
	}
	cmd.Flags().StringVar(&file, "policy", "", policyUsage)
	cmd.Flags().BoolVar(&inJSON, "json", false, jsonUsage)
	pl.flags(cmd.Flags())
	return cmd
}

// textOf returns the text that is to be judged.
func (p *program) textOf(ctx context.Context, args []string, toolArgs string) (string, error) {
	switch {
	case len(args) == 0 && toolArgs == "":
		return "", exitUsage.errorf(`policy explain: which text? Give it as an argument, or "-" for standard input`)
	case len(args) == 0:
		return toolArgs, nil
	case args[0] != "-":
		return args[0], nil
	}
	data, err := p.standardInput(ctx).all(maxMessage)
	return strings.TrimSuffix(string(data), "\n"), exitUsage.as(err)
}

func explained(pol *guardrail.Policy, stage guardrail.Stage, scope guardrail.Scope, text string) policyExplanation {
	v := pol.Judge(stage, scope, text)
	x := policyExplanation{Policy: pol.Name(), Revision: v.Revision, Stage: stage, Action: v.Action, Rule: v.Rule, Message: v.Message,
		Findings: []explainedFinding{}, Others: []explainedRule{}, Before: text, After: v.Text}
	if v.Action == guardrail.Block {
		x.After = ""
	}
	if v.Err != nil {
		x.Error = v.Err.Error()
	}
	found := map[string]bool{}
	for _, f := range v.Findings {
		found[f.Rule] = true
		e := explainedFinding{f.Rule, f.Action, f.Would, f.Type, f.By, f.Start, f.End, f.Score, f.View, text[f.Start:f.End], ""}
		if e.Would == e.Action {
			e.Would = ""
		}
		for _, shown := range guardview.Of(e.Text) {
			if shown.Name == f.View {
				e.Reads = shown.Text
			}
		}
		x.Findings = append(x.Findings, e)
	}
	for _, r := range pol.Rules() {
		if !found[r.ID] {
			x.Others = append(x.Others, explainedRule{r.ID, cmp.Or(r.Silent(stage, scope), "it finds nothing that it acts on")})
		}
	}
	return x
}

func (p *program) writeExplanation(x policyExplanation) error {
	st := styleOf(p.stdout)
	what := string(x.Action)
	if x.Rule != "" && x.Action != guardrail.Allow {
		what += " by rule " + x.Rule
	}
	fmt.Fprintf(p.out, "%s  %s\n", st.bold(what), st.dim(visible(fmt.Sprintf("(stage %s, policy %s, revision %s)", x.Stage, x.Policy, x.Revision))))
	if x.Message != "" {
		fmt.Fprintf(p.out, "says    %s\n", visible(x.Message))
	}
	if x.Error != "" {
		fmt.Fprintf(p.out, "error   %s\n", visible(x.Error))
	}
	if len(x.Findings) > 0 {
		fmt.Fprintln(p.out)
		w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "rule\taction\ttype\tby\tbytes\tscore\tview\ttext")
		for _, f := range x.Findings {
			action, quote := string(f.Action), quoted(f.Text)
			if f.Would != "" {
				action = fmt.Sprintf("%s (out of shadow: %s)", f.Action, f.Would)
			}
			if f.Reads != "" {
				quote += " reads " + quoted(f.Reads)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d-%d\t%.2f\t%s\t%s\n", visible(f.Rule), action, f.Type, visible(f.By), f.Start, f.End, f.Score, f.View, quote)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	after := aligned(x.After)
	if x.Action == guardrail.Block {
		after = st.dim("(it does not pass)")
	}
	fmt.Fprintf(p.out, "\nbefore  %s\nafter   %s\n", aligned(x.Before), after)
	for i, r := range x.Others {
		if i == 0 {
			fmt.Fprintln(p.out)
		}
		fmt.Fprintln(p.out, st.dim(visible(fmt.Sprintf("not %s: %s", r.Rule, r.Why))))
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
