package process

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
)

const (
	tailSize   = 2 << 10 // bytes of stderr in an error
	maxPending = 1 << 20 // bytes of output that wait for the log
	perLine    = 256     // what a line that waits counts for, besides its bytes
	maxLevel   = 64      // bytes of the level of a record
	maxAttrs   = 10_000  // JSON values in the attributes of a record

	// What a plugin may log: so much at once, and so much in each second after that.
	linesAtOnce    = 5_000
	linesPerSecond = 1_000
	bytesAtOnce    = 4 << 20
	bytesPerSecond = 1 << 20
	// dropPause is how long the log is not told again that lines were dropped.
	dropPause = 10 * time.Second
)

// tail keeps the end of what is written to it. It keeps twice what it shows: most secrets are whole
// in that if a part of them is in what it shows.
type tail struct {
	mu   sync.Mutex
	data []byte
	cut  bool // data does not begin where the text began
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	skip := max(0, len(p)-2*tailSize)
	t.data = append(t.data, p[skip:]...)
	over := len(t.data) - 2*tailSize
	if over > 0 {
		t.data = t.data[:copy(t.data, t.data[over:])]
	}
	t.cut = t.cut || skip > 0 || over > 0
	return len(p), nil
}

// text returns the end without secrets.
func (t *tail) text(secret message.Secrets) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := string(t.data)
	if t.cut { // a long secret may have begun before
		s = secret.TrimStart(s)
	}
	s = secret.Replace(s)
	return strings.TrimSpace(strings.ToValidUTF8(s[max(0, len(s)-tailSize):], "?"))
}

// output logs what a plugin prints and logs. A writer never waits for the log: if the log is too
// slow, or there are more lines or bytes than a plugin may log, lines are dropped and counted.
type output struct {
	secret message.Secrets

	mu      sync.Mutex
	log     *slog.Logger
	pending []outputLine
	size    int
	lines   *rate.Limiter
	bytes   *rate.Limiter
	dropped int           // since the log was told of that
	told    time.Time     // when the log was told that lines were dropped
	wake    chan struct{} // has an element when there is something to do
	closed  bool
	done    chan struct{}
}

type outputLine struct {
	stream, text string // the stream is "" if it came over the wire, as a record
	level        string
	attrs        []byte
}

func newOutput(log *slog.Logger, secret message.Secrets) *output {
	o := &output{
		log:    log,
		secret: secret,
		lines:  rate.NewLimiter(linesPerSecond, linesAtOnce),
		bytes:  rate.NewLimiter(bytesPerSecond, bytesAtOnce),
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	go o.run()
	return o
}

// setLog changes the log.
func (o *output) setLog(log *slog.Logger) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = log
}

func (o *output) print(stream string, line []byte) {
	if len(bytes.TrimSpace(line)) > 0 {
		o.add(outputLine{stream: stream, text: string(line)}, len(line))
	}
}

// record takes a log record that the plugin has sent. One that is too large is dropped.
func (o *output) record(r *wire.Log) {
	size := len(r.Message) + len(r.Attrs)
	if len(r.Level) > maxLevel || size <= maxPending && message.Values(r.Attrs) > maxAttrs {
		size = maxPending + 1
	}
	o.add(outputLine{text: r.Message, level: r.Level, attrs: r.Attrs}, size)
}

func (o *output) add(l outputLine, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	size += perLine
	if o.closed || o.size+size > maxPending || !o.lines.Allow() || !o.bytes.AllowN(time.Now(), size) {
		o.dropped++
		o.notify()
		return
	}
	o.pending = append(o.pending, l)
	o.size += size
	o.notify()
}

func (o *output) notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// close ends the output once all of it is in the log; done is closed then.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.notify()
}

func (o *output) run() {
	defer close(o.done)
	var later *time.Timer // tells of what is dropped meanwhile
	for range o.wake {
		o.mu.Lock()
		lines := o.pending
		dropped := o.dropped
		closed := o.closed
		log := o.log
		o.pending = nil
		o.size = 0
		pause := dropPause - time.Since(o.told)
		tell := dropped > 0 && (closed || pause <= 0)
		if tell {
			o.dropped = 0
			o.told = time.Now()
		}
		o.mu.Unlock()
		for _, l := range lines {
			if l.stream == "" {
				level, attrs := wireRecord(l.level, l.attrs)
				o.write(log, level, l.text, attrs)
			} else {
				level, message, attrs := parseLine(l.text)
				o.write(log, level, message, append(attrs, slog.String("stream", l.stream)))
			}
		}
		if later != nil && (tell || closed) {
			later.Stop()
			later = nil
		}
		if tell {
			log.Warn("the plugin logs more than it may, or faster than the log takes it; lines were dropped",
				"lines", dropped)
		} else if dropped > 0 && later == nil {
			later = time.AfterFunc(pause, o.notify)
		}
		if closed {
			return
		}
	}
}

func (o *output) write(log *slog.Logger, level slog.Level, message string, attrs []slog.Attr) {
	for i, a := range attrs {
		v := o.secret.Value(a.Value.Any())
		switch v.(type) {
		case map[string]any, []any: // as a text
			data, _ := json.Marshal(v)
			v = string(data)
		}
		attrs[i] = slog.Any(o.secret.Replace(a.Key), v)
	}
	log.LogAttrs(context.Background(), level, o.secret.Replace(message), attrs...)
}

// wireRecord returns the level and the attributes of a record that the plugin has sent.
func wireRecord(word string, data []byte) (slog.Level, []slog.Attr) {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(word)) // INFO if it is none
	var attrs map[string]any
	_ = json.Unmarshal(data, &attrs) // none if they are no object
	return level, sorted(attrs)
}

// sorted returns attributes in the order of their keys.
func sorted(attrs map[string]any) []slog.Attr {
	var list []slog.Attr
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		list = append(list, slog.Any(key, attrs[key]))
	}
	return list
}

var levelWord = lazyregexp.New(`(?i)^(?:\d{4}[-/]\S+ (?:\S+ )?)?\[?(trace|debug|info|warn|warning|error|fatal|panic|fatal error)\b[\]:]?`)

// levels has the words for slog's four levels.
var levels = map[string]slog.Level{
	"trace":       slog.LevelDebug,
	"debug":       slog.LevelDebug,
	"info":        slog.LevelInfo,
	"warn":        slog.LevelWarn,
	"warning":     slog.LevelWarn,
	"error":       slog.LevelError,
	"fatal":       slog.LevelError,
	"panic":       slog.LevelError,
	"fatal error": slog.LevelError,
}

// parseLine reads a line: JSON with a level and a message, or a text that may begin with a level.
func parseLine(line string) (slog.Level, string, []slog.Attr) {
	if strings.HasPrefix(line, "{") {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil {
			if message, ok := take(fields, "msg", "message", "@message"); ok {
				word, _ := take(fields, "level", "@level", "severity")
				delete(fields, "time")
				delete(fields, "@timestamp")
				return levels[strings.ToLower(word)], message, sorted(fields)
			}
		}
	}
	m := levelWord.FindStringSubmatch(line)
	if m != nil {
		return levels[strings.ToLower(m[1])], line, nil
	}
	return slog.LevelInfo, line, nil
}

// take removes the first of some fields that is there, and returns it as a text.
func take(fields map[string]any, names ...string) (string, bool) {
	for _, name := range names {
		if v, ok := fields[name]; ok {
			delete(fields, name)
			return fmt.Sprint(v), true
		}
	}
	return "", false
}
