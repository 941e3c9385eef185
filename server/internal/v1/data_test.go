package v1_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
)

func TestWhatIsNotUnderstoodDeletesNothing(t *testing.T) {
	s := serve(t, servertest.Echo, nil)
	status, _ := s.Do("POST", "/v1/apps/desk/sessions/ada/run", `{"message":"Hello there"}`)
	require.Equal(t, 200, status)
	for _, row := range []struct {
		method, path, body string
		status             int
	}{
		{"DELETE", "/v1/apps/desk/users/user?dryRun=true", "", 200},
		{"DELETE", "/v1/apps/desk/users/user?dryRun=1", "", 200},
		{"DELETE", "/v1/apps/desk/users/user?dryRun=yes", "", 400},
		{"DELETE", "/v1/apps/desk/users/user?dryRun", "", 400},
		{"DELETE", "/v1/apps/desk/users/user?dryrun=1", "", 400},
		{"POST", "/v1/apps/desk/retention", `{"days":9223372036854775807}`, 400}, // an overflow: a time in the future
		{"POST", "/v1/apps/desk/retention", `{"days":213503982334601}`, 400},
		{"POST", "/v1/apps/desk/retention", `{"days":-1}`, 400},
		{"POST", "/v1/apps/desk/retention", `{}`, 400},
		{"POST", "/v1/apps/desk/retention", `{"days":100000}`, 200},
	} {
		status, body := s.Do(row.method, row.path, row.body)
		require.Equal(t, row.status, status, "%v: %s", row, body)
		status, _ = s.Do("GET", "/v1/apps/desk/sessions/ada", "")
		require.Equal(t, 200, status, "%v", row)
	}
}

// A run that waits for a busy session may make the session when it is not there. So it is cancelled with the
// run that it waits for, on every surface; nobody waits until it gives up.
func TestWhatIsDeletedIsNotMadeAgainByWhatWaited(t *testing.T) {
	for _, path := range []string{
		"/v1/apps/desk/sessions/ada",
		"/v1/apps/desk/users/user",
		"/apps/desk/users/user/sessions/ada", // the kit's
	} {
		goOn := make(chan struct{})
		s := serve(t, servertest.Waiting(goOn), func(o *server.Options) { o.Kit = true })
		for _, id := range []string{"one", "two", "three"} {
			resp := s.Open(t.Context(), "POST", "/chat",
				`{"session":"ada","message":"Hello","id":"`+id+`"}`)
			defer resp.Body.Close()
			require.Equal(t, 200, resp.StatusCode)
		}
		began := time.Now()
		status, body := s.Do("DELETE", path, "")
		require.Less(t, status, 300, body)
		require.Less(t, time.Since(began), 2*time.Second)
		time.Sleep(100 * time.Millisecond)
		status, body = s.Do("GET", "/v1/apps/desk/sessions/ada", "")
		require.Equal(t, 404, status, body)
		close(goOn)
	}
}
