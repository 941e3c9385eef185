package v1_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// listed is what the list route answers.
type listed struct {
	Sessions []struct {
		ID    string         `json:"id"`
		Event *session.Event `json:"event"`
		Live  bool           `json:"live"`
	} `json:"sessions"`
	More bool   `json:"more"`
	Next string `json:"next"`
}

func (s *service) list(query string) (ids string, answer listed) {
	s.Helper()
	status, body := s.Do("GET", "/v1/apps/desk/sessions?"+query, "")
	require.Equal(s, 200, status, "%s: %s", query, body)
	require.NoError(s, json.Unmarshal([]byte(body), &answer))
	var all []string
	for _, one := range answer.Sessions {
		all = append(all, one.ID)
	}
	return strings.Join(all, " "), answer
}

func TestSessionsAreListedAndFound(t *testing.T) {
	s := serve(t, servertest.Desk, nil)
	for _, id := range []string{"a", "b", "c", "d"} {
		message := `Hello`
		switch id {
		case "b":
			message = "book"
		case "c":
			message = "Erstattung für Łódź"
		}
		status, body := s.Do("POST", "/v1/apps/desk/sessions/"+id+"/run",
			`{"message":"`+message+`"}`)
		require.Equal(t, 200, status, body)
	}
	status, _ := s.Do("POST", "/v1/apps/desk/sessions/a/run", `{"message":"Again"}`)
	require.Equal(t, 200, status)

	// The last updated comes first, page by page, also behind a session that is gone.
	ids, _ := s.list("")
	require.Equal(t, "a d c b", ids)
	ids, first := s.list("limit=2")
	require.Equal(t, "a d", ids)
	require.True(t, first.More)
	status, _ = s.Do("DELETE", "/v1/apps/desk/sessions/d", "")
	require.Equal(t, 204, status)
	ids, second := s.list("limit=2&after=" + url.QueryEscape(first.Next))
	require.Equal(t, "c b", ids)
	require.False(t, second.More)
	require.Empty(t, second.Next)

	// Filters.
	ids, found := s.list("match=" + url.QueryEscape("LODZ erstattung"))
	require.Equal(t, "c", ids)
	require.Contains(t, found.Sessions[0].Event.Text(), "Łódź")
	require.True(t, found.Sessions[0].Live)
	for query, want := range map[string]string{
		"waiting=true":                 "b",
		"tool=book":                    "b",
		"author=user":                  "a c b",
		"author=user&match=again":      "a",
		"error=1":                      "",
		"denied=1":                     "",
		"since=2020-01-01T00:00:00Z":   "a c b",
		"until=2020-01-01T00:00:00Z":   "",
		"match=book&user=somebodyelse": "",
		"since=" + url.QueryEscape(time.Now().Add(time.Hour).Format(time.RFC3339)): "",
	} {
		ids, _ := s.list(query)
		require.Equal(t, want, ids, query)
	}
}

func TestAWrongListIsRefusedByName(t *testing.T) {
	s := serve(t, servertest.Echo, nil)
	for query, name := range map[string]string{
		"since=yesterday":            "since",
		"until=1":                    "until",
		"since=3020-01-01T00:00:00Z": "since",
		"since=2024-01-02T00:00:00Z&until=2024-01-01T00:00:00Z": "until",
		"limit=0":       "limit",
		"limit=1001":    "limit",
		"error=perhaps": "error",
		"denied=2":      "denied",
		"waiting=x":     "waiting",
		"match=%3F!":    "match",
		"match=":        "match",
		"author=":       "author",
		"tool=":         "tool",
		"after=ada":     "after",
		"after=MSAy":    "after",
		"sort=newest":   "sort",
		"Match=refund":  "Match",
		"app=other":     "app",
	} {
		status, body := s.Do("GET", "/v1/apps/desk/sessions?"+query, "")
		require.Equal(t, 400, status, "%s: %s", query, body)
		require.Contains(t, body, name, query)
	}
}
