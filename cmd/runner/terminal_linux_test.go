package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
)

// tty is a terminal with a program at its other end.
type tty struct {
	t    *testing.T
	keys *os.File
	seen *bufio.Reader
	text strings.Builder
}

// onTerminal starts this test program on a terminal of its own, which is of a type and so many columns wide.
func onTerminal(
	t *testing.T,
	kind string,
	columns uint16,
	state string,
	args ...string,
) (*tty, *exec.Cmd) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil && os.Getenv("PLUGHOOK_TEST_ALL") == "" {
		t.Skip("there are no terminals here; mount devpts: ", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t,
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: columns}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer slave.Close()

	bin := filepath.Join(t.TempDir(), "runner")
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, bin)) // it is what it is called
	cmd := exec.Command(bin, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Env = append(os.Environ(), "TERM="+kind, "XDG_STATE_HOME="+state,
		"GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	return &tty{t: t, keys: master, seen: bufio.NewReader(master)}, cmd
}

// waitFor reads until text has been shown since the last wait; a test that waits in vain times out.
func (y *tty) waitFor(text string) {
	y.t.Helper()
	for !strings.Contains(y.text.String(), text) {
		b, err := y.seen.ReadByte()
		require.NoError(y.t, err, "waiting for %q; there was %q", text, y.text.String())
		y.text.WriteByte(b)
	}
	y.text.Reset()
}

func (y *tty) press(keys string) {
	_, err := y.keys.WriteString(keys)
	require.NoError(y.t, err)
}

const (
	enter = "\r"
	ctrlC = "\x03"
	ctrlD = "\x04"
	up    = "\x1b[A"
	left  = "\x1b[D"
)

// chatConfig writes a configuration with a tool that a human is asked about, and a model that can be slow.
func chatConfig(t *testing.T) string {
	config := filepath.Join(t.TempDir(), "runner.yaml")
	require.NoError(t, os.WriteFile(config, []byte(`
tools: [{name: book, command: [echo, '{"booked": true}'], confirm: It costs 5 EUR.}, {name: begin, command: [echo, '{}']}]
agent: {model: "script:script.yaml", tools: [book, begin]}
plugins: [{guardrail: {file: policy.yaml}}]
`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(config), "policy.yaml"), []byte(`
rules:
  - {id: cards, stages: [input], detect: {pii: [CREDIT_CARD]}, action: block, message: No cards.}
  - {id: mails, stages: [input], detect: {pii: [EMAIL_ADDRESS]}, action: redact}
`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(config), "script.yaml"), []byte(`
- {response: book, say: It is booked.}
- {user: ^book$, call: {name: book}}
- {user: ^slow$, call: {name: begin}}
- {response: begin, say: Not for an hour., delay: 1h}
- {user: "(?s)(.*)", say: "You said <{{.user}}>."}
`), 0o600))
	return config
}

func TestChatOnATerminal(t *testing.T) {
	state, config := t.TempDir(), chatConfig(t)
	y, cmd := onTerminal(t, "xterm", 100, state, "chat", "--config", config)

	// Lines are edited, and remembered.
	y.waitFor("> ")
	y.press("helo" + left + "l" + enter)
	y.waitFor("You said <hello>.")
	y.waitFor("> ")
	y.press(up + "!" + enter)
	y.waitFor("You said <hello!>.")
	y.waitFor("> ")
	y.press(`one\` + enter)
	y.waitFor("… ")
	y.press("two" + enter)
	y.waitFor("You said <one\r\ntwo>.")

	// Of what a policy takes out, or blocks, nothing is remembered.
	y.waitFor("> ")
	y.press("4111 1111 1111 1111" + enter)
	y.waitFor("No cards.")
	y.waitFor("> ")
	y.press("//ann@example.com" + enter)
	y.waitFor("You said </[EMAIL_ADDRESS]>.")

	// A human is asked, and the answer is no message.
	y.waitFor("> ")
	y.press("book" + enter)
	y.waitFor("[y/n/later] ")
	y.press("y" + enter)
	y.waitFor("It is booked.")

	// What the turn waits for is said after a while. Ctrl-C stops the turn and not the program.
	y.waitFor("> ")
	y.press("slow" + enter)
	y.waitFor("response of begin")
	y.waitFor("waiting for model script:script.yaml")
	y.waitFor("script.yaml, 1 s")
	y.press(ctrlC)
	y.waitFor("(stopped)")

	// Where a message is typed, it takes two.
	y.waitFor("> ")
	y.press("unfinished")
	y.waitFor("unfinished") // by now, Ctrl-C is a key and no signal
	y.press(ctrlC)
	y.waitFor("Ctrl-C again, or Ctrl-D, ends the chat")
	y.waitFor("> ")
	y.press("/session" + enter)
	y.waitFor("(app runner, user user)")
	y.waitFor("> ")
	for _, text := range []string{"one", "two"} {
		y.press(text)
		y.waitFor(text)
		y.press(ctrlC)
		if text == "one" {
			y.waitFor("ends the chat")
			y.waitFor("> ")
		}
	}
	require.NoError(t, cmd.Wait())

	// The history is the person's own, and there for the next chat.
	file := filepath.Join(state, "plughook", "history")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "hello\nhello!\none\ntwo\n//[EMAIL_ADDRESS]\nbook\nslow\n/session\n",
		string(text))
	y, cmd = onTerminal(t, "xterm", 100, state, "chat", "--config", config)
	y.waitFor("> ")
	y.press(up + up + up + enter)
	y.waitFor("[y/n/later] ")
	y.press(ctrlD) // later
	y.waitFor("> ")
	y.press(ctrlD)
	require.NoError(t, cmd.Wait())
}

// A narrow terminal has whole words on its lines, in answers and in the help. Tab completes commands and ids of
// sessions.
func TestANarrowTerminal(t *testing.T) {
	const columns = 60
	state, config := t.TempDir(), chatConfig(t)
	store := "sqlite:" + filepath.Join(state, "s.db")
	message := strings.TrimSpace(strings.Repeat("seventeen geese ", 8))
	for _, session := range []string{"monday-talk", "tuesday-talk"} {
		y, cmd := onTerminal(t, "xterm", columns, state, "run", "--config", config, "--store", store,
			"--session", session, message)
		text := y.rest()
		require.NoError(t, cmd.Wait())
		requireLines(t, columns, text)
		require.Contains(t, strings.Join(strings.Fields(text), " "), "You said <"+message+">.")
	}

	y, cmd := onTerminal(t, "xterm", columns, state, "chat", "--config", config, "--store", store)
	y.waitFor("> ")
	y.press("/sess\t mon\t" + enter)
	y.waitFor("monday-talk (app runner, user user)")
	y.waitFor("> ")
	y.press("/session none" + enter)
	y.waitFor("there is no session none of this app and user; /new begins one")
	y.waitFor("> ")
	y.press(ctrlD)
	require.NoError(t, cmd.Wait())

	for _, args := range [][]string{
		{"chat", "--help"}, {"session", "stats", "--help"}, {"policy", "replay", "--help"}, {"--help"},
		{"session", "stats", "--store", store, "--by", "user"},
	} {
		y, cmd := onTerminal(t, "xterm", columns, state, args...)
		text := y.rest()
		require.NoError(t, cmd.Wait(), text)
		requireLines(t, columns, text)
	}
}

// rest reads what is shown until the program has ended.
func (y *tty) rest() string {
	text, _ := io.ReadAll(y.seen) // a terminal without a program is an error
	return string(text)
}

var controls = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// requireLines fails if a line is longer than the terminal is wide, but for examples and words that are longer.
func requireLines(t *testing.T, columns int, text string) {
	t.Helper()
	require.Contains(t, text, "\n")
	for line := range strings.Lines(controls.ReplaceAllString(text, "")) {
		line = strings.TrimRight(line, "\r\n")
		line = line[strings.LastIndex(line, "\r")+1:] // a bar was there
		if strings.HasPrefix(line, "  runner ") {     // an example
			continue
		}
		if strings.Contains(strings.TrimSpace(line), " ") {
			require.LessOrEqual(t, len([]rune(line)), columns, line)
		}
	}
}

// The example of a workflow: it asks, is revised, asks, and is approved; a question can be left, and a command typed.
func TestAWorkflowAsksOnATerminal(t *testing.T) {
	y, cmd := onTerminal(t, "xterm", 160, t.TempDir(), "chat", "--config",
		"../../examples/workflow/runner.yaml")
	y.waitFor("> ")
	y.press("My kettle broke." + enter)
	y.waitFor("question:")
	y.waitFor("answer: ")
	y.press(enter)
	y.waitFor("not answered; /approve asks again")
	y.waitFor("> ")
	y.press("/approve" + enter)
	y.waitFor("answer: ")
	y.press("/session" + enter)
	y.waitFor("app letters")
	y.waitFor("answer: ")
	y.press("make it shorter" + enter)
	y.waitFor("write@2: We are sorry")
	y.waitFor("answer: ")
	y.press("yes" + enter)
	y.waitFor("The letter is sent.")
	y.waitFor("> ")
	y.press(ctrlD)
	require.NoError(t, cmd.Wait())
}

// Where lines are not edited, Ctrl-C is a signal, and means the same.
func TestChatWithoutLineEditing(t *testing.T) {
	config := chatConfig(t)
	for kind, columns := range map[string]uint16{"dumb": 100, "xterm": 0, "vt100": 20} {
		y, cmd := onTerminal(t, kind, columns, t.TempDir(), "chat", "--config", config)

		// Who is asked puts it off: no later line is an answer.
		y.waitFor("> ")
		y.press("book" + enter)
		y.waitFor("[y/n/later] ")
		y.press("y" + ctrlC)
		y.waitFor("> ")
		y.press("y" + enter)
		y.waitFor("You said <y>.")
		y.waitFor("> ")
		y.press("/approve" + enter)
		y.waitFor("[y/n/later] ")
		y.press("n" + enter)
		y.waitFor("declined")

		// A turn is stopped.
		y.waitFor("> ")
		y.press("slow" + enter)
		y.waitFor("response of")
		y.press(ctrlC)
		y.waitFor("(stopped)")

		// Where a message is typed, it takes two.
		y.waitFor("> ")
		y.press("unfinished" + ctrlC)
		y.waitFor("Ctrl-C again")
		y.waitFor("> ")
		y.press("hello" + enter)
		y.waitFor("<hello>.")
		y.waitFor("> ")
		y.press(ctrlC)
		y.waitFor("Ctrl-C again")
		y.waitFor("> ")
		y.press(ctrlC)
		require.NoError(t, cmd.Wait(), kind)
	}
}

// Before a user's data is deleted, a human is asked; anything but yes deletes nothing.
func TestForgetAsksOnATerminal(t *testing.T) {
	state := t.TempDir()
	db := "sqlite:" + filepath.Join(state, "s.db")
	code, _, stderr := clitest.RunLeakless(t, newRoot, nil, "replay", "testdata/rich.jsonl",
		"--store", db)
	require.Zero(t, code, stderr)
	for _, turn := range []struct {
		answer, said string
		code         int
	}{
		{enter, "nothing was deleted", 2},
		{"no" + enter, "nothing was deleted", 2},
		{ctrlD, "nothing was deleted", 2},
		{"y" + enter, "deleted 2 sessions", 0},
	} {
		y, cmd := onTerminal(t, "xterm", 100, state, "session", "forget", "--user", "ada",
			"--store", db)
		y.waitFor("delete 2 sessions, 0 artifacts, 1 key of state? [y/N] ")
		y.press(turn.answer)
		y.waitFor(turn.said)
		_ = cmd.Wait() // the exit code tells
		require.Equal(t, turn.code, cmd.ProcessState.ExitCode(), turn.answer)
	}
}

// Who deletes all sessions on a terminal is asked. Only a yes deletes.
func TestDeleteAllOnATerminal(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "s.db")
	y, cmd := onTerminal(t, "xterm", 100, t.TempDir(), "session", "import", "testdata/rich.jsonl",
		"--store", store)
	y.waitFor("imported 4 sessions")
	require.NoError(t, cmd.Wait())
	for _, c := range []struct{ answer, said string }{
		{"n", "nothing was deleted"},
		{"", "nothing was deleted"},
		{"y", "deleted "},
	} {
		y, cmd := onTerminal(t, "xterm", 100, t.TempDir(), "session", "delete", "--all", "--store",
			store)
		y.waitFor("delete 4 sessions, with their events and artifacts? [y/N] ")
		y.press(c.answer + enter)
		y.waitFor(c.said)
		err := cmd.Wait()
		require.Equal(t, c.answer == "y", err == nil, "%q: %v", c.answer, err)
	}
}

// On a terminal a table has bars: the longest for the group that cost most, or had most calls where nothing has a cost.
func TestStatsOnATerminal(t *testing.T) {
	state := t.TempDir()
	db := "sqlite:" + filepath.Join(state, "s.db")
	code, _, stderr := clitest.RunLeakless(t, newRoot, nil, "replay", "testdata/rich.jsonl",
		"--store", db)
	require.Zero(t, code, stderr)
	y, cmd := onTerminal(t, "dumb", 200, state, "session", "stats", "--store", db, "--by", "tool",
		"-q")
	y.waitFor("calls ")
	y.waitFor("████████████ ")
	y.waitFor("total ")
	require.NoError(t, cmd.Wait())
}
