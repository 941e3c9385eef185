package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A command waits until all packages of the program are initialised, whether it needs them or not. So a package prepares
// what it can when it is first used: a regular expression with lazyregexp.New, anything else with sync.OnceValue. This
// test binary has the packages of the program; Go says what each of ours has allocated before main.
func TestPackagesPrepareLittle(t *testing.T) {
	const most = 48 << 10 // bytes; what protoc has generated for plugins allocates 39 KB
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	traced := regexp.MustCompile(`init github\.com/plughook/plughook/(\S+) .* clock, (\d+) bytes`).FindAllStringSubmatch(string(out), -1)
	require.Greater(t, len(traced), 20, string(out))
	for _, line := range traced {
		allocated, err := strconv.Atoi(line[2])
		require.NoError(t, err)
		require.LessOrEqual(t, allocated, most, "package %s allocates %d bytes before main", line[1], allocated)
	}
}
