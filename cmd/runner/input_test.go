package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInputIsBounded(t *testing.T) {
	read := func(text string, line int) error {
		in := &input{ctx: t.Context(), from: strings.NewReader(text), most: line}
		got, err := io.ReadAll(in)
		if err == nil {
			require.Equal(t, text, string(got))
		}
		return err
	}
	long := strings.Repeat("a", 1<<17) // more than one read
	require.NoError(t, read(long+"\n"+long, 1<<17))
	require.NoError(t, read(strings.Repeat("short\n", 1<<17), 6))
	require.ErrorContains(t, read("short\n"+long, 1<<17-1), "a line is longer than")

	in := &input{ctx: t.Context(), name: "it", from: strings.NewReader(long), most: maxLine}
	all, err := in.all(1 << 17)
	require.NoError(t, err)
	require.Equal(t, long, string(all))
	in.from = strings.NewReader(long)
	_, err = in.all(1<<17 - 1)
	require.ErrorContains(t, err, "read it: it is larger than")

	for _, file := range []string{"config check --config", "run Hello --config ../../examples/support/runner.yaml --file"} {
		code, _, stderr := inProcess(t, nil, append(strings.Fields(file), "/dev/zero")...)
		require.Equal(t, exitUsage.code, code)
		require.Contains(t, stderr, "read /dev/zero: it is larger than")
	}
	code, _, stderr := inProcess(t, strings.NewReader(strings.Repeat("a", maxMessage+1)), "run", "--config", "../../examples/support/runner.yaml")
	require.Equal(t, exitUsage.code, code)
	require.Equal(t, "runner: read standard input: it is larger than 16 MiB, the most that is taken\n", stderr)
}

func TestWithin(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	begun, end := make(chan struct{}), make(chan struct{})
	go func() { <-begun; cancel(errInterrupted) }()
	_, err := within(ctx, func() (int, error) {
		close(begun)
		<-end
		return 1, nil
	})
	require.ErrorIs(t, err, errInterrupted)
	close(end)
	_, err = within(ctx, func() (int, error) { panic("it is too late") })
	require.ErrorIs(t, err, errInterrupted)
	got, err := within(t.Context(), func() (int, error) { return 1, errors.ErrUnsupported })
	require.Equal(t, 1, got)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
