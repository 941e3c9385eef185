package sqlstore

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only a process of this boot and of these namespaces that is not there any more has ended for sure.
func TestProcessEnded(t *testing.T) {
	own := strings.Fields(Process())
	require.Len(t, own, 5)
	with := func(field int, value string) string {
		other := strings.Fields(Process())
		other[field] = value
		return strings.Join(other, " ")
	}
	child := exec.Command("sleep", "600")
	require.NoError(t, child.Start())
	_, started, err := processStat(child.Process.Pid)
	require.NoError(t, err)
	alive := strings.Join([]string{own[0], own[1], own[2], fmt.Sprint(child.Process.Pid), started}, " ")
	for name, of := range map[string]struct {
		process string
		ended   bool
	}{
		"this one":                        {Process(), false},
		"none is named":                   {"", false},
		"of another form":                 {"1 2 3", false},
		"another one that is alive":       {alive, false},
		"its number is another's by now":  {with(4, "1"), true},
		"of another boot":                 {strings.Replace(with(4, "1"), own[0], "other", 1), false},
		"of another container":            {strings.Replace(with(4, "1"), own[1], "pid:[1]", 1), false},
		"of another time namespace":       {strings.Replace(with(4, "1"), own[2], "time:[1]", 1), false},
		"of all processes":                {with(3, "-1"), false},
		"of a process that others may be": {with(3, fmt.Sprint(os.Getppid())), true}, // it was started earlier
	} {
		require.Equal(t, of.ended, ProcessEnded(of.process), name)
	}
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
	require.True(t, ProcessEnded(alive))
}
