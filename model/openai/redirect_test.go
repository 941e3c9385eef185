package openai_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/model"
)

// What is said goes to no server but the one that is configured.
func TestARedirectIsNotFollowed(t *testing.T) {
	other := serve(t, sends(message(`{"content":"thank you"}`, `"stop"`)))
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/v1/chat/completions", status)
		})
		for _, stream := range []bool{false, true} {
			_, _, err := ask(t, s.model(t), hello(stream))
			var coded *model.Error
			require.ErrorAs(t, err, &coded)
			require.Equal(t, model.Failed, coded.Code)
			require.ErrorContains(t, err, "a redirect, which is not followed")
		}
	}
	require.Empty(t, other.bodies)
}
