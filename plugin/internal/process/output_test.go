//go:build unix

package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/redact"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/remote/wire"
)

func TestLevelsOfLines(t *testing.T) {
	for _, test := range []struct {
		line, message string
		level         slog.Level
		attrs         int
	}{
		{"just text", "just text", slog.LevelInfo, 0},
		{"WARN disk is nearly full", "WARN disk is nearly full", slog.LevelWarn, 0},
		{"[ERROR] no disk", "[ERROR] no disk", slog.LevelError, 0},
		{"2026/01/02 15:04:05 warning: hot", "2026/01/02 15:04:05 warning: hot", slog.LevelWarn, 0},
		{"2026-01-02T15:04:05Z debug: x", "2026-01-02T15:04:05Z debug: x", slog.LevelDebug, 0},
		{"panic: boom", "panic: boom", slog.LevelError, 0},
		{"fatal error: all goroutines are asleep", "fatal error: all goroutines are asleep", slog.LevelError, 0},
		{"errors were none", "errors were none", slog.LevelInfo, 0},
		{`{"level":"warn","msg":"m","time":"t","n":1,"o":{"a":[1]}}`, "m", slog.LevelWarn, 2},
		{`{"@level":"error","@message":"m","@timestamp":"t"}`, "m", slog.LevelError, 0},
		{`{"severity":"DEBUG","message":"m"}`, "m", slog.LevelDebug, 0},
		{`{"n":1}`, `{"n":1}`, slog.LevelInfo, 0},
		{`{"level":`, `{"level":`, slog.LevelInfo, 0},
	} {
		level, message, attrs := parseLine(test.line)
		require.Equal(t, test.level, level, test.line)
		require.Equal(t, test.message, message)
		require.Len(t, attrs, test.attrs, test.line)
	}
}

func TestLongLinesAreCut(t *testing.T) {
	var lines []int
	eachLine(strings.NewReader("short\r\n"+strings.Repeat("x", 3*maxLine)+"\n\nend"),
		func(line []byte) { lines = append(lines, len(line)) })
	require.Equal(t, []int{5, maxLine, 0, 3}, lines)
}

func TestTheTailHasNoPartOfASecret(t *testing.T) {
	secret := message.NewSecrets(redact.Secret{Value: "hunter2hunter2", Name: "$SECRET"})
	for n := range 20 {
		var end tail
		_, _ = io.WriteString(&end, "a beginning hunter2hunter2"+strings.Repeat(".", 2*tailSize-n))
		text := end.text(secret)
		require.Len(t, text, tailSize)
		require.NotContains(t, text, "2")
	}
	var end tail
	_, _ = io.WriteString(&end, "some ")
	_, _ = io.WriteString(&end, "hunter2hunter2\n")
	require.Equal(t, "some $SECRET", end.text(secret))
}

// stuckHandler is a log that takes nothing until it is released.
type stuckHandler struct {
	slog.Handler
	stuck chan struct{}
}

func (h stuckHandler) Handle(ctx context.Context, r slog.Record) error {
	<-h.stuck
	return h.Handler.Handle(ctx, r)
}

// A log that hangs holds up nobody; what it misses is counted.
func TestOutputNeverWaitsForTheLog(t *testing.T) {
	log := new(testplugin.Log)
	h := stuckHandler{slog.NewTextHandler(log, nil), make(chan struct{})}
	o := newOutput(slog.New(h), message.Secrets{})
	line := bytes.Repeat([]byte("x"), 1<<10)
	for range 4 << 10 {
		o.print("stderr", line)
		o.record(&wire.Log{Level: "WARN", Message: string(line), Attrs: []byte(`{"a":1}`)})
	}
	close(h.stuck)
	o.close()
	<-o.done
	require.Contains(t, log.String(), "lines were dropped")
	require.Greater(t, strings.Count(log.String(), "level=WARN"), 100)
	require.Less(t, len(log.String()), 4<<20)
}

// What waits for the log is bounded, whatever of a record is large, and however many there are;
// what is too large is counted.
func TestWhatWaitsForTheLogIsBounded(t *testing.T) {
	large := strings.Repeat("x", 2<<20)
	for name, test := range map[string]struct {
		record *wire.Log
		most   int // that wait
	}{
		"levels":     {&wire.Log{Level: large}, 0},
		"messages":   {&wire.Log{Message: large}, 0},
		"keys":       {&wire.Log{Attrs: []byte(`{"` + large + `":1}`)}, 0},
		"values":     {&wire.Log{Attrs: []byte(`{"a":"` + large + `"}`)}, 0},
		"many":       {&wire.Log{Attrs: []byte(`{"a":[` + strings.Repeat("{},", maxAttrs) + `{}]}`)}, 0},
		"nothing":    {&wire.Log{}, maxPending / perLine},
		"both large": {&wire.Log{Message: large[:maxPending/2], Attrs: []byte(`{"a":"` + large[:maxPending/2] + `"}`)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(testplugin.Log)
			h := stuckHandler{slog.NewTextHandler(log, nil), make(chan struct{})}
			o := newOutput(slog.New(h), message.Secrets{})
			o.print("stderr", []byte("the log is stuck"))
			for taken := false; !taken; {
				o.mu.Lock()
				taken = len(o.pending) == 0
				o.mu.Unlock()
			}
			for range 10_000 {
				o.record(test.record)
			}
			o.mu.Lock()
			waiting, dropped := len(o.pending), o.dropped
			o.mu.Unlock()
			require.LessOrEqual(t, waiting, test.most)
			require.Equal(t, 10_000, waiting+dropped)
			close(h.stuck)
			o.close()
			<-o.done
			require.Contains(t, log.String(), fmt.Sprintf("lines were dropped\" lines=%d", dropped))
		})
	}
}

// What a plugin logs in the long run is bounded in lines and in bytes, and the log is not filled
// with what it does not get either.
func TestTheRateOfTheLogIsBounded(t *testing.T) {
	for name, line := range map[string]string{"short": "x", "long": strings.Repeat("x", 8<<10)} {
		t.Run(name, func(t *testing.T) {
			log := new(testplugin.Log)
			o := newOutput(log.Logger(), message.Secrets{})
			printed := 0
			began := time.Now()
			for time.Since(began) < time.Second || printed < 20_000 {
				// At least three times as many lines as may be logged, also where a sleep takes
				// long.
				due := 3 * linesPerSecond * int(time.Since(began).Milliseconds()) / 1000
				for range max(10, due-printed) {
					o.print("stderr", []byte(line))
					printed++
				}
				time.Sleep(100 * time.Microsecond) // the log takes all that it is to take
			}
			o.close()
			<-o.done
			logged := strings.Count(log.String(), "stream=stderr")
			t.Log(printed, "printed", logged, "logged", len(log.String()), "bytes")
			seconds := int(time.Since(began).Seconds()) + 1
			require.Less(t, logged, linesAtOnce+seconds*linesPerSecond)
			require.Less(t, len(log.String()), bytesAtOnce+seconds*bytesPerSecond)
			require.LessOrEqual(t, strings.Count(log.String(), "lines were dropped"), 2+seconds/10)
			dropped := 0
			for _, m := range regexp.MustCompile(`dropped" lines=(\d+)`).FindAllStringSubmatch(log.String(), -1) {
				n, err := strconv.Atoi(m[1])
				require.NoError(t, err)
				dropped += n
			}
			require.Equal(t, printed, logged+dropped, "each line is logged or counted")
			require.Positive(t, dropped)
		})
	}
}

func FuzzFindHandshake(f *testing.F) {
	f.Add([]byte("noise\n1|1|unix|/tmp/p|grpc|\nmore"))
	f.Add([]byte("1|1|unix"))
	f.Add([]byte("1|2|tcp|x|netrpc\n"))
	f.Add(bytes.Repeat([]byte("noise\n"), maxNoise/5))
	f.Fuzz(func(t *testing.T, stdout []byte) {
		told, noise := 0, 0
		findHandshake(bytes.NewReader(stdout), func(line string, err error) {
			told++
			if err == nil {
				require.NoError(t, checkHandshake(line))
				require.LessOrEqual(t, noise, maxNoise)
			}
		}, func(line []byte) { noise += len(line) + 1 })
		require.Equal(t, 1, told)
	})
}

func FuzzStdio(f *testing.F) {
	f.Add([]byte{8, 2, 18, 2, 'h', 'i'})
	f.Add([]byte{18, 200, 1})
	f.Fuzz(func(t *testing.T, fields []byte) {
		channel, data := stdioData(fields)
		require.Contains(t, []string{"stdout", "stderr"}, channel)
		require.LessOrEqual(t, len(data), len(fields))
	})
	channel, data := stdioData([]byte{8, 2, 18, 2, 'h', 'i'})
	if channel != "stderr" || string(data) != "hi" {
		f.Fatal(channel, data)
	}
}

// What is shown of the end of a text has no part of a secret that is longer than what is shown.
func TestTailOfALongSecret(t *testing.T) {
	var value strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&value, "%03d", i*7919%1000)
	}
	secret := message.NewSecrets(redact.Secret{Value: value.String(), Name: "$KEY"})
	for _, after := range []int{0, 500, 1500, 2500, 4000} {
		var end tail
		_, _ = end.Write([]byte(strings.Repeat("-", 500) + value.String()))
		_, _ = end.Write([]byte(strings.Repeat("-", after)))
		require.NotRegexp(t, `\d`, end.text(secret), "%d bytes after it", after)
	}
}
