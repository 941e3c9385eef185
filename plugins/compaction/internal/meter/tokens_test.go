package meter_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/compaction/internal/meter"
)

// The counts were made with the vocabulary o200k.
func TestTokensAreWithinAFifth(t *testing.T) {
	for _, c := range []struct {
		name, text string
		tokens     float64
	}{
		{"Chinese", "我们明天早上八点在机场见面，请带上你的护照和机票。今天天气很好，适合去公园散步。", 34},
		{"Russian", "Завтра утром мы встречаемся в аэропорту, возьми с собой паспорт и билет. ", 19},
		{"German", "Morgen früh treffen wir uns am Flughafen, bring bitte deinen Reisepass und das Ticket mit. ", 19},
		{"identifiers", "3f2b8c1e-9d47-4a6b-8e21-5c7d9f0a1b2c ", 35},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := meter.Tokens(genai.NewContentFromText(strings.Repeat(c.text, 50), genai.RoleUser))
			require.InEpsilon(t, 50*c.tokens, n, 0.2)
		})
	}
}
