package session

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/stats"
)

// A number is one of those that a report has for each group.
type number struct {
	csv    string // its name among comma-separated values
	header string // its name in a table, "" if tables do not have it
	value  float64
	text   string // its value in a table
}

// numbersOf returns all numbers of a group, in their order. Tables by tool have other columns than the rest: what
// became of the calls and how long they took, in place of how long the runs took.
func numbersOf(s *stats.Sums, by stats.By) []number {
	count := func(csv, header string, n int64) number {
		return number{csv: csv, header: header, value: float64(n), text: strconv.FormatInt(n, 10)}
	}
	duration := func(csv, header string, d time.Duration) number {
		return number{csv: csv, header: header, value: d.Seconds(), text: shortly(d)}
	}
	percentile := func(n number, values int64) number {
		if values == 0 {
			n.text = "-"
		}
		return n
	}
	ofTool := func(header string) string {
		if by == stats.Tool {
			return header
		}
		return ""
	}
	runs, tokens, calls := s.RunTime.Count, s.RunTokens.Count, s.CallTime.Count
	return []number{
		count("runs", "RUNS", s.Runs),
		count("prompt_tokens", "PROMPT", s.Tokens.Prompt),
		count("cached_tokens", "CACHED", s.Tokens.Cached),
		count("output_tokens", "OUTPUT", s.Tokens.Output),
		count("reasoning_tokens", "REASONING", s.Tokens.Reasoning),
		{csv: "cost", header: "COST", value: s.Cost, text: costText(s)},
		count("unpriced_tokens", "", s.Unpriced),
		count("calls", "CALLS", s.Calls.Made),
		count("calls_ok", "", s.Calls.OK),
		count("calls_failed", "FAILED", s.Calls.Failed),
		count("calls_denied", ofTool("DENIED"), s.Calls.Denied),
		count("calls_declined", ofTool("DECLINED"), s.Calls.Declined),
		count("calls_interrupted", ofTool("INTERRUPTED"), s.Calls.Interrupted),
		count("calls_waiting", ofTool("WAITING"), s.Calls.Waiting),
		count("calls_open", ofTool("OPEN"), s.Calls.Open),
		count("denials", "DENIALS", s.Denials),
		count("compactions", "", s.Compactions),
		count("saved_tokens", "SAVED", s.Saved),
		percentile(count("run_tokens_p50", "TOKENS P50", s.RunTokens.P50), tokens),
		percentile(count("run_tokens_p95", "TOKENS P95", s.RunTokens.P95), tokens),
		percentile(duration("run_seconds_p50", "TIME P50", s.RunTime.P50), runs),
		percentile(duration("run_seconds_p95", "TIME P95", s.RunTime.P95), runs),
		percentile(duration("call_seconds_p50", ofTool("TIME P50"), s.CallTime.P50), calls),
		percentile(duration("call_seconds_p95", ofTool("TIME P95"), s.CallTime.P95), calls),
	}
}

// writeCSV writes a line for each group, below one with the names of the numbers.
func (x *statistics) writeCSV(groups []stats.Group, by stats.By, currency string) error {
	w := csv.NewWriter(x.Out)
	var header []string
	if by != stats.All {
		header = append(header, string(by))
	}
	for _, n := range numbersOf(&stats.Sums{}, by) {
		header = append(header, n.csv)
	}
	lines := [][]string{append(header, "currency")}
	for _, g := range groups {
		var line []string
		if by != stats.All {
			line = append(line, eventtext.Printable(g.Name))
		}
		for _, n := range numbersOf(&g.Sums, by) {
			line = append(line, strconv.FormatFloat(n.value, 'f', -1, 64))
		}
		lines = append(lines, append(line, currency))
	}
	return w.WriteAll(lines)
}

// statsLine returns a group as programs read it.
func statsLine(by stats.By, g stats.Group, currency string) any {
	line := map[string]any{"currency": currency}
	if by != stats.All {
		line["by"] = by
		line["group"] = g.Name
	}
	for _, n := range numbersOf(&g.Sums, by) {
		line[camel(n.csv)] = n.value
	}
	return line
}

// camel returns a name of words with _ between them as JSON has it: saved_tokens is savedTokens.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// writeTable writes a row for each group, and one for their sum. A number that is 0 in all of them is left out.
func (x *statistics) writeTable(r *stats.Report, by stats.By) error {
	rows := append(slices.Clone(r.Groups), stats.Group{Name: "total", Sums: r.Total})
	if by == stats.Tool { // the rest of the total is of no tool
		rows[len(rows)-1].Sums = stats.Sums{Calls: r.Total.Calls, CallTime: r.Total.CallTime}
	}
	table := [][]string{{strings.ToUpper(string(by))}}
	var numbers [][]number // by row
	for _, g := range rows {
		table = append(table, []string{eventtext.Printable(cmp.Or(g.Name, "(none)"))})
		numbers = append(numbers, numbersOf(&g.Sums, by))
	}
	for column, n := range numbers[0] {
		isCost := n.csv == "cost"
		some := false
		for i, g := range rows {
			some = some || numbers[i][column].value != 0 || isCost && g.Unpriced > 0
		}
		if n.header == "" || !some {
			continue
		}
		if isCost {
			n.header = "COST " + r.Currency
		}
		table[0] = append(table[0], n.header)
		for i := range rows {
			table[i+1] = append(table[i+1], numbers[i][column].text)
		}
	}
	names := 1 // columns
	if columns := x.Out.Columns(); columns > 0 {
		left := fit(table, columns)
		if left >= barWidth/3 {
			names += addBars(table, r.Groups, min(left, barWidth))
		}
		if left < 0 {
			x.Note("the terminal is too narrow for all columns; --jsonl and --csv have them")
		}
	}
	return x.writeAligned(table, names)
}

// fit takes columns away on the right of a table until it is so wide at most. It returns how many characters are left, and
// less than 0 if it has taken a column away.
func fit(table [][]string, columns int) (left int) {
	left = columns
	for i, width := range columnWidths(table) {
		left -= width + len(gap)
		if i == 0 || left+len(gap) >= 0 {
			continue
		}
		for row := range table {
			table[row] = table[row][:i]
		}
		return -1
	}
	return left - len(gap)
}

// barWidth is the length of the longest bar.
const barWidth = 12

// addBars adds, behind the names, a bar of so many characters at most to each row but the total's: of its cost, or of
// its tokens, calls or runs where nothing has a cost. It returns how many columns it has added.
func addBars(table [][]string, groups []stats.Group, longest int) int {
	for _, bar := range []struct {
		header string
		of     func(s *stats.Sums) float64
	}{
		{"cost", func(s *stats.Sums) float64 { return s.Cost }},
		{"tokens", func(s *stats.Sums) float64 { return float64(s.Tokens.Sum()) }},
		{"calls", func(s *stats.Sums) float64 { return float64(s.Calls.Made) }},
		{"runs", func(s *stats.Sums) float64 { return float64(s.Runs) }},
	} {
		most := 0.0
		for _, g := range groups {
			most = max(most, bar.of(&g.Sums))
		}
		if most == 0 {
			continue
		}
		cells := []string{bar.header}
		for _, g := range groups {
			length := int(math.Ceil(bar.of(&g.Sums) / most * float64(longest))) // what is not 0 is seen
			cells = append(cells, strings.Repeat("█", length))
		}
		cells = append(cells, "")
		for i := range table {
			table[i] = slices.Insert(table[i], 1, cells[i])
		}
		return 1
	}
	return 0
}

// writeAligned writes a table: so many columns of names to the left, and the numbers behind them to the right.
func (x *statistics) writeAligned(table [][]string, names int) error {
	widths := columnWidths(table)
	for n, row := range table {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < names {
				line.WriteString(cell + pad + gap)
			} else {
				line.WriteString(pad + cell + gap)
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if n == 0 || n == len(table)-1 {
			text = x.Style().Bold(text)
		}
		if _, err := fmt.Fprintln(x.Out, text); err != nil {
			return err
		}
	}
	return nil
}

// gap stands between two columns.
const gap = "  "

// columnWidths returns how many characters the widest cell of each column has.
func columnWidths(table [][]string) []int {
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// writeSummary writes what all sessions took, a line for each kind of thing.
func (x *statistics) writeSummary(r *stats.Report, table *prices.Table) error {
	s := &r.Total
	var lines [][2]string
	say := func(what, format string, args ...any) {
		lines = append(lines, [2]string{what, eventtext.Printable(fmt.Sprintf(format, args...))})
	}
	span := ""
	if !r.First.IsZero() {
		span = fmt.Sprintf(", from %s to %s", r.First.UTC().Format(time.DateTime), r.Last.UTC().Format(time.DateTime))
	}
	say("sessions", "%d, with %s%s", r.Sessions, phrase.Count(int(r.Events), "event"), span)
	say("runs", "%d%s", s.Runs, spreadText(s.RunTime, shortly))
	if s.Tokens.Sum() == 0 {
		say("tokens", "the logs have no counts of tokens")
	} else {
		say("tokens", "%d prompt (%d of it cached), %d output, %d reasoning",
			s.Tokens.Prompt, s.Tokens.Cached, s.Tokens.Output, s.Tokens.Reasoning)
		aRun := spreadText(s.RunTokens, func(n int64) string { return strconv.FormatInt(n, 10) })
		say("tokens a run", "%s", strings.TrimPrefix(aRun, "; "))
		dated := ""
		if table.Date != "" {
			dated = fmt.Sprintf(" (prices of %s, %s)", table.Date, table.Source)
		}
		say("cost", "%s %s%s", costText(s), r.Currency, dated)
	}
	ended := ""
	for _, n := range numbersOf(s, stats.Tool) {
		if status, ok := strings.CutPrefix(n.csv, "calls_"); ok && n.value > 0 {
			ended += fmt.Sprintf(", %s %s", n.text, status)
		}
	}
	say("tool calls", "%d%s%s", s.Calls.Made, strings.Replace(ended, ",", ":", 1), spreadText(s.CallTime, shortly))
	say("denials", "%d", s.Denials)
	say("compactions", "%d, which saved %s", s.Compactions, phrase.Count(int(s.Saved), "token"))
	for _, l := range lines {
		if _, err := fmt.Fprintf(x.Out, "%s  %s\n", x.Style().Bold(fmt.Sprintf("%-12s", l[0])), l[1]); err != nil {
			return err
		}
	}
	return nil
}

// spreadText says how values are spread, "" if there are none.
func spreadText[T ~int64](s stats.Spread[T], text func(T) string) string {
	if s.Count == 0 {
		return ""
	}
	return fmt.Sprintf("; p50 %s, p95 %s, most %s", text(s.P50), text(s.P95), text(s.Max))
}

// costText returns a cost: with ≥ where a part has no price, and as a dash where all of it has none.
func costText(s *stats.Sums) string {
	cost := strconv.FormatFloat(s.Cost, 'f', 4, 64)
	switch {
	case s.Unpriced > 0 && s.Cost == 0:
		return "-"
	case s.Unpriced > 0:
		return "≥" + cost
	}
	return cost
}

// shortly returns a duration with about three digits.
func shortly(d time.Duration) string {
	unit := time.Microsecond
	for unit < time.Second && d >= 1000*unit {
		unit *= 10
	}
	if d >= time.Minute {
		unit = time.Second
	}
	return d.Round(unit).String()
}
