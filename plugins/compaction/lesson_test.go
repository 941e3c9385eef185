package compaction_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
)

// A provider that reports no usage counts otherwise than we do, or takes less than the configuration
// says. It refuses a prompt twice at most; then the session stays below what it takes.
func TestARefusedPromptTeachesTheCounter(t *testing.T) {
	check(t, 10, func(rt *rapid.T) {
		ours := rapid.IntRange(1200, 4000).Draw(rt, "our tokens that the provider takes")
		factor := rapid.Float64Range(0.7, 3).Draw(rt, "its tokens for each of ours")
		window := int(float64(ours) * rapid.Float64Range(1.3, 6).Draw(rt, "window"))
		figures := rapid.Bool().Draw(rt, "its message has figures")
		refused := 0
		most := 0 // tokens of a prompt after the first that was refused
		m := &speaker{answer: func(n int, req *model.Request) (*model.Response, error) {
			size := 0
			for _, c := range append([]*genai.Content{req.Config.SystemInstruction}, req.Contents...) {
				size += meter.Tokens(c)
			}
			if size <= ours && refused > 0 {
				most = max(most, size)
			}
			if size > ours {
				refused++
				text := "http://127.0.0.1:11434/v1 answered 413 Request Entity Too Large"
				if figures {
					text = fmt.Sprintf(
						"http://127.0.0.1:11434/v1 answered 400 Bad Request: This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.",
						int(float64(ours)*factor),
						int(float64(size)*factor),
					)
				}
				return nil, &model.Error{
					Code:   "INVALID_ARGUMENT",
					Status: 400,
					Err:    errors.New(text),
				}
			}
			return said("answer %d %s", n, filler(30)), nil
		}}
		s := stage(t, compaction.Config{Window: window}, m)
		for i := range 80 {
			s.say("question %d %s", i, filler(rapid.IntRange(5, 90).Draw(rt, "words")))
			e := s.live()[len(s.live())-1]
			require.Empty(rt, e.ErrorCode, e.ErrorMessage)
		}
		require.LessOrEqual(rt, refused, 2)

		// What is learned is no more than is needed: prompts use a fair part of what the provider takes.
		if refused > 0 {
			require.Greater(rt, most, ours/8)
		}
	})
}
