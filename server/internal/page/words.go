package page

import (
	"fmt"
	"html/template"
	"strconv"
	"time"

	"github.com/plughook/plughook/server/internal/page/timeline"
	"github.com/plughook/plughook/server/internal/page/visible"
)

// functions are those of the templates.
var functions = template.FuncMap{
	"line":  func(text string) []visible.Piece { return visible.Line(text, 200) },
	"dur":   durationText,
	"clock": clockText,
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"cost":  costText,
	"n":     numberText,
	"count": countText,
	"path":  pathOf,
	"px":    func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) + "%" },
	"dict": func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i+1 < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	},
	"add": func(a, b int) int { return a + b },
	"weekday": func(day string) string {
		t, err := time.Parse(time.DateOnly, day)
		switch {
		case err != nil:
			return day
		case day == now().Format(time.DateOnly):
			return "Today"
		}
		return t.Format("Mon")
	},
}

// durationText says a duration in three digits.
func durationText(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Microsecond:
		return "<1 µs"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// clockText says a time: of today by the clock, else the day.
func clockText(t time.Time) string {
	switch local := t.Local(); {
	case t.IsZero():
		return ""
	case local.Format(time.DateOnly) == now().Format(time.DateOnly):
		return local.Format(time.TimeOnly)
	case now().Sub(t) < 7*24*time.Hour && now().After(t):
		return local.Format("Mon 15:04")
	}
	return t.Local().Format(time.DateOnly)
}

// costText says what tokens cost; "–" where that is not known.
func costText(s timeline.Sums) string {
	switch {
	case s.Unpriced:
		return "–"
	case s.Cost == 0:
		return "$0"
	case s.Cost < 1:
		return fmt.Sprintf("$%.4f", s.Cost)
	}
	return fmt.Sprintf("$%.2f", s.Cost)
}

// numberText writes a number with commas between thousands.
func numberText(v any) string {
	text := fmt.Sprint(v)
	if f, ok := v.(float64); ok {
		text = strconv.FormatFloat(f, 'f', -1, 64)
	}
	for i := len(text) - 3; i > 0 && text[i-1] >= '0' && text[i-1] <= '9'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// countText is a number and what is counted, in the plural unless it is one.
func countText(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return numberText(n) + " " + what
}
