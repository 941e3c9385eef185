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

		Title   string         `json:"title"`
		Message string         `json:"message"`
		State   map[string]any `json:"state"`
	} `json:"sessions"`
	More     bool   `json:"more"`
	Next     string `json:"next"`
	Previous string `json:"previous"`
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

// A page of a chat lists sessions with what it shows of them, in one request, and turns pages in both directions.
func TestAListForAChat(t *testing.T) {
	s := serve(t, servertest.Desk, nil, servertest.Policy())
	long := strings.Repeat("ä", 600)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		status, body := s.Do("POST", "/v1/apps/desk/sessions/"+id+"/run", `{"message":"Hello from `+id+`\n`+long+`"}`)
		require.Equal(t, 200, status, body)
	}
	for id, body := range map[string]string{
		"a": `{"message":"compact"}`, // the first message stands behind a summary
		"b": `{"message":"Second","stateDelta":{"title":"My trip"}}`,
		"c": `{"message":"Third","stateDelta":{"__session_metadata__":{"displayName":"As the kit has it"}}}`,
	} {
		status, body := s.Do("POST", "/v1/apps/desk/sessions/"+id+"/run", body)
		require.Equal(t, 200, status, body)
	}
	_, all := s.list("details=1")
	require.Len(t, all.Sessions, 5)
	for _, one := range all.Sessions {
		require.Equal(t, "Hello from "+one.ID+"\n"+strings.Repeat("ä", 500-13)+"…", one.Message)
		want := map[string]string{"b": "My trip", "c": "As the kit has it"}[one.ID]
		if want == "" {
			want = "Hello from " + one.ID
		} else {
			require.NotEmpty(t, one.State)
		}
		require.Equal(t, want, one.Title)
	}
	ids, plain := s.list("")
	require.Empty(t, plain.Sessions[0].Message+plain.Sessions[0].Title)
	order := strings.Fields(ids)

	// Two pages forth, one back, and what is new.
	one, first := s.list("limit=2")
	require.Equal(t, strings.Join(order[:2], " "), one)
	two, second := s.list("limit=2&after=" + first.Next)
	require.Equal(t, strings.Join(order[2:4], " "), two)
	again, back := s.list("limit=2&before=" + second.Previous)
	require.Equal(t, one, again)
	again, _ = s.list("limit=2&after=" + back.Next)
	require.Equal(t, two, again)
	again, _ = s.list("before=" + first.Previous)
	require.Empty(t, again)
	status, _ := s.Do("POST", "/v1/apps/desk/sessions/new/run", `{"message":"Hello"}`)
	require.Equal(t, 200, status)
	again, _ = s.list("before=" + first.Previous)
	require.Equal(t, "new", again)
	status, body := s.Do("GET", "/v1/apps/desk/sessions?after="+first.Next+"&before="+first.Next, "")
	require.Equal(t, 400, status, body)
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
		"before=ada":    "before",
		"sort=newest":   "sort",
		"Match=refund":  "Match",
		"app=other":     "app",
	} {
		status, body := s.Do("GET", "/v1/apps/desk/sessions?"+query, "")
		require.Equal(t, 400, status, "%s: %s", query, body)
		require.Contains(t, body, name, query)
	}
}
