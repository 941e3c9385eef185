package guardrail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// drawParts draws what a model says, thinks and does in one piece of a stream.
func drawParts(r *rapid.T) []*genai.Part {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) *genai.Part {
		switch rapid.IntRange(0, 9).Draw(r, "kind") {
		case 0, 1:
			return &genai.Part{Text: pieces.Draw(r, "thought"), Thought: true}
		case 2:
			return &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("x")}}
		case 3:
			return &genai.Part{FunctionCall: call("fetch", map[string]any{"a": 1.0})}
		}
		return &genai.Part{Text: pieces.Draw(r, "said")}
	}), 1, 3).Draw(r, "parts")
}

// joined are parts as a model's whole answer has them: texts that come one after the other are one.
func joined(parts []*genai.Part) (whole []*genai.Part) {
	for _, p := range parts {
		if n := len(whole); n > 0 && p.Text != "" && whole[n-1].Text != "" &&
			whole[n-1].Thought == p.Thought {
			whole[n-1] = &genai.Part{Text: whole[n-1].Text + p.Text, Thought: p.Thought}
			continue
		}
		whole = append(whole, p)
	}
	return whole
}

// Whatever comes in a stream, and however it ends, what was shown of what is said, and of what is
// thought, is a beginning of what is kept of it.
func TestPartsStreamedEqualWhole(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		drawn, _ := drawPolicy(r)
		p := quiet(t,
			guardrail.Config{Policy: drawn, Key: []byte("a key of sixteen bytes, and more")})
		inv := &session.Invocation{ID: "i", Key: key}
		var parts []*genai.Part
		var said, thought string
		stopped := false
		for range rapid.IntRange(1, 20).Draw(r, "pieces") {
			piece := drawParts(r)
			parts = append(parts, piece...)
			e := says("bot", piece...)
			e.Partial = true
			out, err := p.OnEvent(ctx, inv, e)
			require.NoError(r, err)
			if stopped = out.Stop; stopped {
				break
			}
			if out.Withhold {
				continue
			}
			if out.Replace != nil {
				e = out.Replace
			}
			s, t := kinds(e)
			said, thought = said+s, thought+t
		}
		e := says("bot", joined(parts)...)
		if rapid.Bool().Draw(r, "failed") {
			e.ErrorCode, e.ErrorMessage = model.Failed, pieces.Draw(r, "message")
		}
		if rapid.Bool().Draw(r, "grounded") {
			e.GroundingMetadata = &genai.GroundingMetadata{
				GroundingChunks: []*genai.GroundingChunk{{}},
			}
		}
		out, err := p.OnEvent(ctx, inv, e)
		require.NoError(r, err)
		_, err = p.AfterRun(ctx, inv, plugin.End{})
		require.NoError(r, err)
		if out.Stop {
			return
		}
		require.False(r, stopped, "the stream was blocked, and the whole is not")
		if out.Replace != nil {
			e = out.Replace
		}
		s, th := kinds(e)
		require.True(r, strings.HasPrefix(s, said), "%q was shown, %q is kept", said, s)
		require.True(r, strings.HasPrefix(th, thought), "%q was shown, %q is kept", thought, th)
	})
}

// A text that breaks off is judged behind what was before it, and not behind itself.
func TestBrokenOffInAWindow(t *testing.T) {
	for _, window := range []string{"part", "turn", "session"} {
		p := quiet(t, with(
			t,
			"rules: [{id: s, detect: {words: [blue heron blue egret]}, action: redact, window: "+window+"}]",
		))
		e := says("bot", &genai.Part{Text: "heron blue"})
		e.ErrorCode = model.Failed
		got, _ := offered(t, p, e)
		require.Equal(t, "heron ", got.Text(), window)
	}
}
