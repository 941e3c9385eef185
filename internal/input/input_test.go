package input

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
		in := Reader(t.Context(), "it", strings.NewReader(text))
		in.MaxLine = line
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

	all, err := Reader(t.Context(), "it", strings.NewReader(long)).All(1 << 17)
	require.NoError(t, err)
	require.Equal(t, long, string(all))
	_, err = Reader(t.Context(), "it", strings.NewReader(long)).All(1<<17 - 1)
	require.ErrorContains(t, err, "read it: it is larger than")

	_, err = ReadFile(t.Context(), "/dev/zero", 1<<20)
	require.EqualError(t, err, "read /dev/zero: it is larger than 1 MiB, the limit")
}

func TestWithin(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	begun, end := make(chan struct{}), make(chan struct{})
	go func() { <-begun; cancel(stop) }()
	_, err := Within(ctx, func() (int, error) {
		close(begun)
		<-end
		return 1, nil
	})
	require.ErrorIs(t, err, stop)
	close(end)
	_, err = Within(ctx, func() (int, error) { panic("it is too late") })
	require.ErrorIs(t, err, stop)
	got, err := Within(t.Context(), func() (int, error) { return 1, errors.ErrUnsupported })
	require.Equal(t, 1, got)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
