package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
)

// Create makes a session with an initial state, which may be nil. Without an ID in its key the server makes
// one.
func (c *Client) Create(
	ctx context.Context, key session.Key, state map[string]any) (*session.Session, error,
) {
	body := map[string]any{"id": key.ID}
	if state != nil {
		body["state"] = state
	}
	var s sessionBody
	if err := c.ask(ctx, http.MethodPost, c.path(session.Key{App: key.App, User: key.User}, ""), body, &s); err != nil {
		return nil, err
	}
	return s.session()
}

// Get returns a session without Initial and Frontier, which servers do not tell.
func (c *Client) Get(ctx context.Context, key session.Key) (*session.Session, error) {
	var s sessionBody
	if err := c.get(ctx, c.path(key, ""), &s); err != nil {
		return nil, err
	}
	return s.session()
}

// A sessionBody is what servers say of a session.
type sessionBody struct {
	App      string         `json:"app"`
	User     string         `json:"user"`
	ID       string         `json:"id"`
	State    jsontext.Value `json:"state"`
	Position int64          `json:"position"`
	Created  time.Time      `json:"created"`
	Updated  time.Time      `json:"updated"`
	Running  string         `json:"running"`
}

// session returns it as a session.Session.
func (b *sessionBody) session() (*session.Session, error) {
	s := &session.Session{
		Key:      session.Key{App: b.App, User: b.User, ID: b.ID},
		Position: b.Position,
		Created:  b.Created,
		Updated:  b.Updated,
		Holder:   b.Running,
	}
	if b.State != nil {
		v, err := session.DecodeValue(b.State)
		if err != nil {
			return nil, fmt.Errorf("client: the session's state: %w", err)
		}
		s.State, _ = v.(map[string]any)
	}
	return s, nil
}

// List yields a user's sessions. With a token, the user is the token's.
func (c *Client) List(ctx context.Context, app, user string) iter.Seq2[*session.Session, error] {
	return func(yield func(*session.Session, error) bool) {
		below := "?limit=1000"
		for {
			var page struct {
				Sessions []*sessionBody `json:"sessions"`
				Next     string         `json:"next"`
			}
			if err := c.get(ctx, c.path(session.Key{App: app, User: user}, below), &page); err != nil {
				yield(nil, err)
				return
			}
			for _, body := range page.Sessions {
				s, err := body.session()
				if !yield(s, err) || err != nil {
					return
				}
			}
			if page.Next == "" {
				return
			}
			below = "?limit=1000&after=" + url.QueryEscape(page.Next)
		}
	}
}

// Read yields a session's events, which it reads page by page. For Selection.Since and Last, which servers do
// not know, it reads all of them and selects from these.
func (c *Client) Read(
	ctx context.Context, key session.Key, sel session.Selection,
) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		if !sel.Since.IsZero() || sel.Last > 0 {
			var all []*session.Event
			for e, err := range c.Read(ctx, key, session.Selection{Live: sel.Live, After: sel.After}) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !e.Timestamp.Before(sel.Since) {
					all = append(all, e)
				}
			}
			if sel.Last > 0 && len(all) > sel.Last {
				all = all[len(all)-sel.Last:]
			}
			for _, e := range all {
				if !yield(e, nil) {
					return
				}
			}
			return
		}
		after := sel.After
		for more := true; more; {
			var page struct {
				Events []jsontext.Value `json:"events"`
				More   bool             `json:"more"`
			}
			below := fmt.Sprintf("events?limit=1000&live=%t&after=%d", sel.Live, after)
			if err := c.get(ctx, c.path(key, below), &page); err != nil {
				yield(nil, err)
				return
			}
			for _, data := range page.Events {
				e, err := session.DecodeEvent(data)
				if err != nil {
					yield(nil, fmt.Errorf("client: an event of the server: %w", err))
					return
				}
				after = e.Seq
				if !yield(e, nil) {
					return
				}
			}
			more = page.More && len(page.Events) > 0
		}
	}
}
