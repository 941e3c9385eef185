package shell

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func patterns(t require.TestingT, sources ...string) []Pattern {
	var ps []Pattern
	for _, s := range sources {
		p, err := Compile(s)
		require.NoError(t, err)
		ps = append(ps, p)
	}
	return ps
}

// The work on a line is bounded, however commands in it run one another.
func TestNestedCommandsAreBounded(t *testing.T) {
	rules := Rules{Deny: patterns(t, "rm *"), Allow: patterns(t, "*")}
	for _, word := range []string{
		"env ",
		"watch ",
		"eval ",
		"find -exec ",
		"git bisect run ",
		"git submodule foreach ",
		"sudo ",
		"xargs ",
		"nohup ",
	} {
		for _, times := range []int{20, (60 << 10) / len(word)} {
			d, why := rules.Judge(strings.Repeat(word, times) + "ls")
			assert.Equal(t, Asked, d, "%d times %s: %s", times, word, why)
			line, err := read(strings.Repeat(word, times) + "ls")
			require.NoError(t, err)
			assert.LessOrEqual(t, len(line.commands), 40, word)
		}
		d, why := rules.Judge(strings.Repeat(word, 5) + "ls")
		assert.Equal(t, Allowed, d, "%s: %s", word, why)
	}
}

// What the parser, or braces, take long for is not read at all.
func TestBracketsAreBounded(t *testing.T) {
	for _, open := range []string{
		"(",
		"$((",
		"x[",
		"$[",
		"{ ",
		"$(",
		"<(",
		"echo ${x:-",
		"[[ ( ",
		"echo @(a|",
	} {
		_, err := read(strings.Repeat(open, (60<<10)/len(open)))
		require.ErrorContains(t, err, "brackets, at most 4096", open)
	}
	for _, braces := range []string{
		strings.Repeat("{a,{b,c}", 1000), strings.Repeat("{a,", 2000), strings.Repeat("{a,b} ", 1000),
	} {
		line, err := read("echo " + braces)
		require.NoError(t, err)
		words := line.commands[0].words
		require.Equal(t, anything, words[len(words)-1])
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		want             Decision
	}{
		{"rm *", "rm", Denied},
		{"rm *", "rmdir x", Unsaid},
		{"git push*", "git push --force", Denied},
		{"git push*", "git -C dir --no-pager push", Denied},
		{"git push*", "git stash", Unsaid},
		{"git push*", "git $X", Asked},
		{"rm -rf /", "rm -rf /", Denied},
		{"rm -rf /", "rm -rf /tmp", Unsaid},
		{"> /etc/*", "echo x >> /etc/passwd", Denied},
		{"> /etc/*", "echo x > /tmp/../etc/passwd", Denied},
		{"> /etc/*", "echo x > $F", Asked},
		{"> *", "make 2>&1 >/dev/null", Unsaid},
		{"cat .env*", "cat ./.env", Denied},
		{"cat .env*", "cat .e*", Asked},
		{"cat .env*", "cat *", Unsaid},
		{"cat .env*", "cat *.md", Unsaid},
		{"cat .env*", "cat a/*", Unsaid},
		{"cat .env*", "< .env cat", Unsaid},
		{"< .env*", "cat < .env", Denied},
		{"* .env*", "head -1 .env", Denied},
		{"/opt/x *", "/opt/x y", Denied},
		{"/opt/x *", "x y", Unsaid},
		{`echo \*`, `echo '*'`, Denied},
		{`echo \*`, `echo x`, Unsaid},
		{"shutdown*", "sudo shutdown -h now", Denied},
	} {
		d, why := Rules{Deny: patterns(t, c.pattern)}.Judge(c.command)
		assert.Equal(t, c.want, d, "deny %s: %s: %s", c.pattern, c.command, why)
	}
	for _, source := range []string{"", "  ", "rm\x00"} {
		_, err := Compile(source)
		require.Error(t, err)
	}
}

func TestOnlyWhatIsSurelyAllowedIs(t *testing.T) {
	rules := Rules{
		Allow: patterns(t, "ls *", "git status*", "grep *", "bash -c *"),
		Ask:   patterns(t, "git push*"),
		Deny:  patterns(t, "rm *"),
	}
	for command, want := range map[string]Decision{
		"ls -la | grep x":                Allowed,
		"/bin/ls":                        Allowed,
		"./ls":                           Unsaid,
		"/tmp/ls":                        Unsaid,
		"LS":                             Unsaid,
		"ls $(cat x)":                    Unsaid,
		"ls > x":                         Unsaid,
		"ls $X":                          Allowed,
		"git status; git push":           Asked,
		"git status; git push; rm x":     Denied,
		"bash -c 'ls; curl x'":           Unsaid,
		"bash -c ls":                     Allowed,
		"ls() { curl x; }; ls":           Unsaid,
		"git -c core.fsmonitor=x status": Asked,
		"":                               Unsaid,
		"# ls":                           Unsaid,
		"ls 'unended":                    Asked,
	} {
		d, why := rules.Judge(command)
		assert.Equal(t, want, d, "%s: %s", command, why)
	}
}

func TestRead(t *testing.T) {
	line, err := read(`FOO=1 /usr/bin/git -C "my dir" push "$HOME" > 'out file' 2>&1`)
	require.NoError(t, err)
	require.Equal(t, []string{
		"an argument of git push may be an option: it is not known before it runs",
	}, line.reasons)
	require.Len(t, line.commands, 2)
	require.Equal(t, []string{">", "out file"}, line.commands[0].words)
	require.Equal(t, "git", line.commands[1].name)
	require.Equal(t, []string{"/usr/bin/git", "-C", "my dir", "push", oneWord},
		line.commands[1].words)

	_, err = read(strings.Repeat("x", 65<<10))
	require.ErrorContains(t, err, "at most 65536")
	_, err = read(strings.Repeat("a;", 600))
	require.ErrorContains(t, err, "more than 500")
	line, err = read("echo {a,b}{a,b} x{1..99999999}y")
	require.NoError(t, err)
	require.Equal(t, []string{"echo", anything, anything}, line.commands[0].words)
}

// What is denied stays denied, whatever stands around it.
func TestSurroundingsDoNotMatter(t *testing.T) {
	rules := tableRules(t)
	var disguises []string
	for _, entry := range readVerdicts(t) {
		if entry.want == "denied" {
			disguises = append(disguises, entry.command)
		}
	}
	around := []string{
		"%s",
		"( %s )",
		"{ %s; }",
		"true; %s",
		"%s; true",
		"true && %s",
		"false || %s",
		"! %s",
		"if true; then %s; fi",
		"f() { %s; }; f",
		"echo $( %s )",
		"cat <( %s )",
		"echo \"$( %s )\"",
		"%s | cat",
		"cat | %s",
	}
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.SampledFrom(disguises).Draw(t, "command")
		if strings.Contains(command, "<<") || strings.Contains(command, "&") ||
			strings.Contains(command, "for f") {
			t.Skip("not to be put into a line")
		}
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			command = strings.ReplaceAll(rapid.SampledFrom(around).Draw(t, "around"), "%s", command)
		}
		d, why := rules.Judge(command)
		require.GreaterOrEqual(t, d, Asked, "%s: %s", command, why)
	})
}

func FuzzJudge(f *testing.F) {
	for _, entry := range readVerdicts(f) {
		f.Add(entry.command)
	}
	rules := Rules{Deny: patterns(f, "rm *"), Allow: patterns(f, "ls *")}
	f.Fuzz(func(t *testing.T, command string) {
		d, why := rules.Judge(command)
		require.True(t, d == Allowed || why != "")
		if line, err := read(command); err == nil {
			for _, c := range line.commands {
				require.False(t, c.name == "rm" && d < Asked, "rm is run and not asked about")
			}
		}
	})
}
