package client

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/session"
)

// Follow yields a session's events behind a position: at first those that are in the log, then each one when
// it was appended, by whichever process. It comes back when the connection breaks. It ends with an error: the
// context's cause, session.ErrNotFound when the session is deleted, or that of a server that cannot be
// reached.
func (c *Client) Follow(ctx context.Context, key session.Key, after int64) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		failures := 0
		reached := false // somebody has answered
		for {
			was := after
			err := c.followOnce(ctx, key, &after, yield)
			if after > was {
				failures = 0
			}
			failures++
			switch {
			case err == errLeft:
				return
			case context.Cause(ctx) != nil:
				yield(nil, context.Cause(ctx))
				return
			case !later(err), failures > attempts, refused(err) && !reached:
				yield(nil, err)
				return
			}
			reached = true
			wait(ctx, firstPause<<failures)
		}
	}
}

// followOnce yields a session's events as long as one connection holds, and moves the position on.
func (c *Client) followOnce(
	ctx context.Context, key session.Key, after *int64, yield func(*session.Event, error) bool,
) error {
	resp, err := c.send(ctx, http.MethodGet, c.path(key, "events?follow=1"), nil, position(*after))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	frames := &frameReader{lines: bufio.NewReader(resp.Body)}
	for {
		name, data, err := frames.next()
		if err != nil {
			return &unreachable{err}
		}
		switch name {
		case "":
			e, err := session.DecodeEvent(data)
			if err != nil {
				return fmt.Errorf("client: an event of the server: %w", err)
			}
			*after = e.Seq
			if !yield(e, nil) {
				return errLeft
			}
		case "error":
			told := &Error{}
			if json.Unmarshal(data, told) != nil {
				return &Error{Code: "failed", Message: "the stream ended with an error that is not readable"}
			}
			return told
		}
	}
}
