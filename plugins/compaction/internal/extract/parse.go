package extract

import (
	"strings"
	"time"
)

// parseLines reads prose as draw writes it. Whatever else it is given is lines too.
func parseLines(prose string) (lines []line) {
	names := map[string]string{}
	day, year := "", ""
	for row := range strings.SplitSeq(prose, "\n") {
		if row == "" {
			continue
		}
		if date, ok := strings.CutPrefix(strings.TrimSuffix(row, "]"), "["); ok {
			if strings.Count(date, " ") == 1 {
				date += " " + year
			}
			if t, err := time.Parse("2 Jan 2006", date); err == nil {
				day, year = t.Format(time.DateOnly), t.Format("2006")
				continue
			}
		}
		author, rest, ok := strings.Cut(row, ": ")
		if !ok {
			author, rest = "", row
		} else if long := expand(author, names); long != "" {
			author = long
		} else {
			names[author] = abbreviate(author, names)
		}
		for _, t := range strings.Split(rest, "; ") {
			if t != "" {
				lines = append(lines, line{author: author, day: day, weight: 1, text: t})
			}
		}
	}
	return lines
}

// expand returns the author with an abbreviation, "" if there is none.
func expand(short string, names map[string]string) string {
	for name, s := range names {
		if s == short || name == short {
			return name
		}
	}
	return ""
}

// parseRecords reads a ledger as draw writes it. What it takes for something else than it was is written the same
// again.
func parseRecords(text string) (records []*record) {
	for row := range strings.SplitSeq(strings.TrimPrefix(text, header), "\n") {
		if row == "" {
			continue
		}
		head, rest, more := strings.Cut(row, ": ")
		r := &record{}
		if name, keys, ok := strings.Cut(head, " "); ok || kindOf(head) != ident {
			r.Name, head = name, keys
		}
		for v := range strings.SplitSeq(head, between) {
			if v != "" {
				r.Fields = append(r.Fields, field{"", v})
			}
		}
		r.Keys = len(r.Fields)
		parent := ""
		for v := range strings.SplitSeq(rest, between) {
			if !more {
				break
			}
			f := field{"", v}
			if label, value, ok := strings.Cut(v, " "); ok && !kindOf(value).bare() {
				if strings.HasPrefix(label, ".") {
					label = strings.TrimSuffix(parent, ".") + label
				}
				f = field{label, value}
				parent = label[:strings.LastIndexByte(label, '.')+1]
			}
			r.Fields = append(r.Fields, f)
		}
		if len(r.Fields) == 0 { // of what somebody has changed
			r.Fields, r.Name = []field{{"", row}}, ""
		}
		records = append(records, r)
	}
	return records
}
