package uploads_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/uploads"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ctx = context.Background()
	key = session.Key{App: "app", User: "ann", ID: "s"}
	png = []byte("\x89PNG\r\n\x1a\n a picture that is long enough to be found in a log")
)

// stores are the services that every test runs on.
func stores(t *testing.T, test func(t *testing.T, artifacts artifact.Service)) {
	t.Run("memory", func(t *testing.T) { test(t, artifact.NewMemory()) })
	t.Run("files", func(t *testing.T) {
		f, err := artifact.Open(t.TempDir())
		require.NoError(t, err)
		defer f.Close()
		test(t, f)
	})
}

// sees is a model that keeps its last request, and says what it was shown last, in two parts.
type sees struct{ asked *model.Request }

func (s *sees) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		s.asked = req
		texts := []string{
			"I see",
			fmt.Sprintf(" %d parts", len(req.Contents[len(req.Contents)-1].Parts)),
		}
		for _, text := range texts {
			if req.Stream &&
				!yield(
					&model.Response{
						Content: genai.NewContentFromText(text, genai.RoleModel),
						Partial: true,
					},
					nil,
				) {
				return
			}
		}
		yield(
			&model.Response{
				Content:      genai.NewContentFromText(texts[0]+texts[1], genai.RoleModel),
				FinishReason: genai.FinishReasonStop,
			},
			nil,
		)
	}
}

// scene is a session with an agent that sees, under uploads and other plugins.
type scene struct {
	t        testing.TB
	model    *sees
	sessions session.Service
	runner   *runner.Runner
}

func stage(t testing.TB, c uploads.Config, more ...*plugin.Plugin) *scene {
	s := &scene{t: t, model: &sees{}, sessions: memory.New()}
	bot, err := llm.New(llm.Config{Name: "bot", Model: s.model, Artifacts: c.Artifacts})
	require.NoError(t, err)
	s.runner = s.start(bot, runner.Options{}, append([]*plugin.Plugin{made(t, c)}, more...)...)
	return s
}

func made(t testing.TB, c uploads.Config) *plugin.Plugin {
	p, err := uploads.New(c)
	require.NoError(t, err)
	return p
}

func (s *scene) start(a agent.Agent, o runner.Options, plugins ...*plugin.Plugin) *runner.Runner {
	o.Agent, o.Sessions, o.Plugins = a, s.sessions, plugins
	r, err := runner.New(o)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, r.Close(ctx)) })
	return r
}

// run runs an input of these parts and returns what was yielded, and the first error.
func (s *scene) run(
	streaming session.Streaming,
	parts ...*genai.Part,
) (yielded []*session.Event, err error) {
	input := &session.Event{Content: &genai.Content{Role: genai.RoleUser, Parts: parts}}
	for e, err := range s.runner.Run(ctx, key, input, session.RunConfig{Create: true, Streaming: streaming}) {
		if err != nil {
			return yielded, err
		}
		yielded = append(yielded, e)
	}
	return yielded, nil
}

// input runs an input of these parts, and returns it as it is in the log.
func (s *scene) input(parts ...*genai.Part) *session.Event {
	s.t.Helper()
	yielded, err := s.run(session.NoStreaming, parts...)
	require.NoError(s.t, err)
	require.Len(s.t, yielded, 2)
	log := s.log()
	return log[len(log)-2]
}

func (s *scene) log() []*session.Event {
	var list []*session.Event
	for e, err := range s.sessions.Read(ctx, key, session.Selection{}) {
		require.NoError(s.t, err)
		list = append(list, e)
	}
	return list
}

// shown returns the parts of the content that the model was asked about last.
func (s *scene) shown() []*genai.Part {
	return s.model.asked.Contents[len(s.model.asked.Contents)-1].Parts
}

func blob(data []byte, kind, name string) *genai.Part {
	return &genai.Part{InlineData: &genai.Blob{Data: data, MIMEType: kind, DisplayName: name}}
}

func file(uri, kind, name string) *genai.Part {
	return &genai.Part{FileData: &genai.FileData{FileURI: uri, MIMEType: kind, DisplayName: name}}
}
