package limits

import (
	"fmt"
	"io"
)

// MetricsType is the Content-Type of what WriteMetrics writes.
const MetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// WriteMetrics writes how much of each limit is in use, the limit, and what was refused, in the form of OpenMetrics
// (https://github.com/prometheus/OpenMetrics). Users have no names there: of what users may have, it is the most that
// one of them has.
func (p *Process) WriteMetrics(w io.Writer) error {
	p.mu.Lock()
	used := p.used
	var most [kinds]int64
	for _, u := range p.users {
		for k := range most {
			most[k] = max(most[k], u.used[k])
		}
	}
	refused := map[*Row]int64{}
	for row, n := range p.refused {
		refused[row] = n
	}
	p.mu.Unlock()

	out := &printer{to: w}
	for k, rows := range bounds {
		if row := rows.process; row != nil {
			out.gauge(row, used[k])
		}
		if row := rows.user; row != nil {
			out.gauge(row, most[k])
		}
	}
	out.printf("# TYPE plughook_limit gauge\n# HELP plughook_limit The limits, in bytes, seconds or things, but for those that are off.\n")
	for _, row := range Table {
		n := row.value(&p.Limits)
		if n == 0 {
			continue // no bound
		}
		value := fmt.Sprint(n)
		if row.isTime() {
			value = fmt.Sprint(float64(n) / 1e9)
		}
		out.printf("plughook_limit{limit=%q} %s\n", row.Key, value)
	}
	out.printf("# TYPE plughook_refused counter\n# HELP plughook_refused What a limit has refused.\n")
	for _, row := range Table {
		if row.Code != "" {
			out.printf("plughook_refused_total{limit=%q} %d\n", row.Key, refused[row])
		}
	}
	out.printf("# TYPE plughook_notices counter\n# HELP plughook_notices Messages about runs that were sent, attempts that failed, and messages that were given up.\n")
	out.printf("plughook_notices_total{result=\"sent\"} %d\n", p.Notices.Sent.Load())
	out.printf("plughook_notices_total{result=\"failed\"} %d\n", p.Notices.Failed.Load())
	out.printf("plughook_notices_total{result=\"given_up\"} %d\n", p.Notices.GivenUp.Load())
	out.printf("# EOF\n")
	return out.err
}

// printer writes until the first error.
type printer struct {
	to  io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.to, format, args...)
	}
}

func (p *printer) gauge(row *Row, n int64) {
	p.printf("# TYPE %s gauge\n# HELP %[1]s How much is in use: %s.\n%[1]s %[3]d\n", row.Metric, row.What, n)
}
