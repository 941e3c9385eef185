package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/file"
)

// policyExplanation is what policy explain writes.
type policyExplanation struct {
	Policy   string             `json:"policy"`
	Revision string             `json:"revision"`
	Stage    policy.Stage       `json:"stage"`
	Action   policy.Action      `json:"action"`
	Rule     string             `json:"rule,omitzero"`
	Message  string             `json:"message,omitzero"`
	Origin   string             `json:"origin,omitzero"` // of the data, for a rule about a flow
	Findings []explainedFinding `json:"findings"`
	Others   []explainedRule    `json:"others"`
	Files    []file.File        `json:"files,omitempty"` // that are judged, in place of a text
	Before   string             `json:"before"`
	After    string             `json:"after"`         // "" of what is blocked
	Asks     string             `json:"asks,omitzero"` // what a person is asked about the call
	Error    string             `json:"error,omitzero"`
}

type explainedFinding struct {
	Rule   string        `json:"rule"`
	Action policy.Action `json:"action"`
	Would  policy.Action `json:"would_action,omitzero"`
	Type   string        `json:"type"`
	By     string        `json:"by,omitzero"`
	Start  int           `json:"start"`
	End    int           `json:"end"`
	Score  float64       `json:"score"`
	View   string        `json:"view"`
	Text   string        `json:"text"`
	Reads  string        `json:"reads,omitzero"` // as it is in the view
	Passes string        `json:"exception,omitzero"`
}

// explainedRule is a rule that found nothing, and why.
type explainedRule struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

func (p *commands) explainCommand() *cobra.Command {
	file := ""
	keyEnv := ""
	var files []string
	inJSON := false
	var event int64
	texts := false
	pl := &textScope{}
	cmd := &cobra.Command{
		Use:   "explain [TEXT]",
		Short: "Say what a policy makes of a text, and why",
		Long: `Judge a text ("-" is standard input, without the line feed at its end) and say what
becomes of it: which rules find what in it, where, and how surely; where it is disguised, in which
view of the text; what the text becomes; and why the other rules find nothing. Characters that
could steer a terminal are escaped. Put "--" before a text that begins with "-".

--app and --user say whose text it is. The other flags give what rules can ask about; what is not
given is empty. The text is judged alone, as if nothing was said before it. Without TEXT the
arguments of --args are judged, as a rule without a detector sees them. In a run each text in the
arguments is judged, with its key before it; "policy replay" shows that. No judge is asked: of a rule
that has one it says whether the judge would be asked.

With --file, files are judged in place of a text: as the files of one message, by the rules that
are about files. The type is the one that the content has; what the name says is said of it. What a
file of text says is judged as a text: give it on standard input.

With --session and --event, an event of a stored session is judged, as "policy replay" judges it: with what the
session had said and read before. The event's number is that of "session show". What is found is quoted with --text.

Tokens of the vault are judged as they are; conditions see what they stand for if --key-env names
the key with which they were made. Where a person is asked about a call, "asks" says what that person
reads: what the rule says, and type and last four characters of hidden values.`,
		Example: `  runner policy explain "my card is 4111 1111 1111 1111"
  runner policy explain --policy policy.yaml --stage tool_args --tool shell --args '{"command":"rm -rf /"}'
  runner policy explain --policy policy.yaml --file report.pdf --file photo.png
  runner policy explain --policy policy.yaml --store sqlite:sessions.db --session 4f2a --event 12
  runner policy explain --stage tool_result --tool fetch - < page.txt`,
		Args: cli.Args(0, 1, "one text at a time: put the text in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("event") {
				if len(args)+len(files) > 0 || p.Session == "" {
					return exit.Usage.Errorf("policy explain: --event is about an event of --session, and about no other text or file")
				}
				r := &policyReplay{policy: file, keyEnv: keyEnv, texts: texts, json: inJSON, examples: 1}
				return p.explainEvent(cmd.Context(), r, event)
			}
			stage, scope, err := pl.of(p)
			if err != nil {
				return err
			}
			scope.Files, err = filesOf(cmd.Context(), files)
			if err != nil {
				return err
			}
			text := ""
			switch {
			case scope.Files == nil:
				text, err = p.textOf(cmd.Context(), args, pl.args)
			case len(args) > 0:
				err = exit.Usage.Errorf("policy explain: a text and files; a rule is about one of them, so give one of them")
			}
			if err != nil {
				return err
			}
			pol, err := policyOf(cmd.Context(), file)
			if err != nil {
				return err
			}
			key, err := keyOf(keyEnv)
			if err != nil {
				return err
			}
			pol = pol.WithKey(key)
			if stage == policy.ToolArgs && pl.args == "" && strings.HasPrefix(text, "{") {
				p.Note("the text is judged as a text in arguments that are not known; --args gives a call's arguments")
			}
			vault, err := guardrail.NewVault(key)
			if err != nil {
				return err
			}
			// which has U+FFFD for what is no Unicode: offsets are those of the text that is written
			if inJSON || p.JSONL {
				return p.WriteJSON(explained(pol, vault, stage, scope, string([]rune(text))))
			}
			return p.writeExplanation(explained(pol, vault, stage, scope, text))
		},
	}
	cmd.Flags().StringVar(&file, "policy", "", policyUsage)
	cmd.Flags().StringArrayVar(&files, "file", nil, "judge the file at this `path` in place of a text; can be given again")
	cmd.Flags().Int64Var(&event, "event", 0, "judge the event of this `number` in the stored session of --session")
	cmd.Flags().BoolVar(&texts, "text", false, "with --event: quote what is found")
	cmd.Flags().StringVar(&keyEnv, "key-env", "", keyUsage)
	cmd.Flags().BoolVar(&inJSON, "json", false, jsonUsage)
	pl.flags(cmd.Flags())
	return cmd
}

// filesOf describes files as they are described when they go with a message; nil if there are none.
func filesOf(ctx context.Context, names []string) ([]file.File, error) {
	var files []file.File
	for _, name := range names {
		blob, err := cli.ReadAttachment(ctx, name)
		if err != nil {
			return nil, err
		}
		files = append(files, file.Of(blob.DisplayName, blob.MIMEType, blob.Data))
	}
	return files, nil
}

// textOf returns the text that is to be judged.
func (p *commands) textOf(ctx context.Context, args []string, toolArgs string) (string, error) {
	switch {
	case len(args) == 0 && toolArgs == "":
		return "", exit.Usage.Errorf(`policy explain: which text? Give it as an argument, or "-" for standard input`)
	case len(args) == 0:
		return toolArgs, nil
	case args[0] != "-":
		return args[0], nil
	}
	data, err := p.StandardInput(ctx).All(cli.MaxMessage)
	return strings.TrimSuffix(string(data), "\n"), exit.Usage.As(err)
}

// givenBy returns what a tool is called with by a text: the arguments in JSON, or the text itself.
func givenBy(text string) any {
	var args map[string]any
	if json.Unmarshal([]byte(text), &args) != nil {
		return []any{text}
	}
	return args
}

func explained(pol *policy.Policy, vault *guardrail.Vault, stage policy.Stage, scope policy.Scope,
	text string) policyExplanation {
	v := pol.Local().Judge(stage, scope, text)
	x := policyExplanation{
		Policy:   pol.Name(),
		Revision: v.Revision,
		Stage:    stage,
		Action:   v.Action,
		Rule:     v.Rule,
		Message:  v.Message,
		Origin:   v.Origin,
		Findings: []explainedFinding{},
		Others:   []explainedRule{},
		Files:    scope.Files,
		Before:   text,
		After:    v.Text,
	}
	if v.Action == policy.Block {
		x.After = ""
	}
	if v.Action == policy.Ask {
		x.Asks = vault.Question(&v, scope.Tool, givenBy(v.Text))
	}
	if v.Err != nil {
		x.Error = v.Err.Error()
	}
	found := map[string]bool{}
	for _, f := range v.Findings {
		found[f.Rule] = true
		e := explainedFinding{
			Rule:   f.Rule,
			Action: f.Action,
			Would:  f.Would,
			Type:   f.Type,
			By:     f.By,
			Start:  f.Start,
			End:    f.End,
			Score:  f.Score,
			View:   f.View,
			Text:   text[f.Start:f.End],
			Reads:  f.Reads(text),
			Passes: f.Exception,
		}
		if e.Would == e.Action {
			e.Would = ""
		}
		x.Findings = append(x.Findings, e)
	}
	asked := judgesAsked(pol, stage, scope, text)
	for _, r := range pol.Rules() {
		if found[r.ID] {
			continue
		}
		why := cmp.Or(r.Silent(stage, scope), asked[r.ID])
		x.Others = append(x.Others, explainedRule{Rule: r.ID, Why: cmp.Or(why, "no match")})
	}
	return x
}

// judgesAsked says, by the ids of rules, when their judges would be asked about a text in a run: of the
// rules whose condition holds.
func judgesAsked(pol *policy.Policy, stage policy.Stage, scope policy.Scope, text string) map[string]string {
	const instead = "; here none is: policy test takes a recorded answer, and policy eval asks"
	asked := map[string]string{}
	active := pol.At(&scope, stage)
	for _, parts := range []bool{true, false} {
		for _, judge := range active.Judges(&policy.Verdict{}, text, parts) {
			asked[judge.Rule] = "in a run its judge is asked" + instead
			if judge.Grounding {
				asked[judge.Rule] = "in a run its judge is asked, if a tool has answered before" + instead
			}
		}
	}
	return asked
}

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
	if x.Origin != "" && x.Asks == "" {
		fmt.Fprintf(p.Out, "from    %s\n", visible(x.Origin))
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
			if f.Passes != "" {
				action = fmt.Sprintf("%s (exception: %s)", f.Action, f.Passes)
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
