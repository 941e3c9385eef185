package gemini_test

import (
	"encoding/json"
	"math"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/geminitest"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/gemini"
)

func TestARequestIsSent(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		m, srv := start(t, geminitest.Text("ok"))
		req := request(stream)
		req.Model = "another"
		req.Config = &genai.GenerateContentConfig{
			SystemInstruction: genai.Text("be brief")[0],
			Temperature:       genai.Ptr[float32](0.5),
			Tools: []*genai.Tool{
				{
					FunctionDeclarations: []*genai.FunctionDeclaration{
						{Name: "f", ParametersJsonSchema: map[string]any{"type": "object"}},
					},
				},
			},
			HTTPOptions: &genai.HTTPOptions{
				Headers:   http.Header{"X-Team": {"a"}},
				ExtraBody: map[string]any{"labels": map[string]any{"k": "v"}},
			},
		}
		before := req.Clone()
		_, _, err := ask(t, t.Context(), m, req)
		require.NoError(t, err)
		require.Equal(t, before, req, "the request is shared")

		r := srv.Requests()[0]
		require.Equal(t, "another", r.Model)
		require.Equal(t,
			map[bool]string{false: "generateContent", true: "streamGenerateContent"}[stream],
			r.Method)
		require.Equal(t, canary, r.Header.Get("X-Goog-Api-Key"))
		require.Equal(t, "a", r.Header.Get("X-Team"))
		body, err := json.Marshal(r.Body)
		require.NoError(t, err)
		require.JSONEq(
			t,
			`{"contents":[{"role":"user","parts":[{"text":"hello"}]}],"generationConfig":{"temperature":0.5},"labels":{"k":"v"},
			"systemInstruction":{"role":"user","parts":[{"text":"be brief"}]},"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}}]}]}`,
			string(body),
		)
	})
}

// Ids that the agent has made up are not sent, the model's own are. The request is not changed: the
// log has the same contents.
func TestIDsOfTheAgentAreNotSent(t *testing.T) {
	turn := []*genai.Content{genai.Text("go")[0],
		{
			Role: genai.RoleModel,
			Parts: []*genai.Part{
				{FunctionCall: &genai.FunctionCall{ID: "plughook-1", Name: "f"}},
				{FunctionCall: &genai.FunctionCall{ID: "own-2", Name: "f"}},
			},
		},
		{
			Role: genai.RoleUser,
			Parts: []*genai.Part{
				{
					FunctionResponse: &genai.FunctionResponse{
						ID:       "plughook-1",
						Name:     "f",
						Response: map[string]any{"a": 1},
					},
				},
				{FunctionResponse: &genai.FunctionResponse{ID: "own-2", Name: "f"}},
			},
		}}
	m, srv := start(t, geminitest.Text("ok"))
	req := request(false, turn...)
	before := req.Clone()
	_, _, err := ask(t, t.Context(), m, req)
	require.NoError(t, err)
	require.Equal(t, before, req)
	sent := srv.Requests()[0].Contents
	require.Equal(
		t,
		[]geminitest.Part{
			{"functionCall": map[string]any{"name": "f"}},
			{"functionCall": map[string]any{"name": "f", "id": "own-2"}},
		},
		sent[1].Parts,
	)
	require.Equal(
		t,
		[]geminitest.Part{
			{
				"functionResponse": map[string]any{
					"name":     "f",
					"response": map[string]any{"a": json.Number("1")},
				},
			},
			{
				"functionResponse": map[string]any{
					"name":     "f",
					"id":       "own-2",
					"response": map[string]any{},
				},
			},
		},
		sent[2].Parts,
	)
}

func TestOtherParts(t *testing.T) {
	m, srv := start(t, geminitest.Text("ok"))
	_, _, err := ask(
		t,
		t.Context(),
		m,
		request(false, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
			{
				InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("png")},
			}, {FileData: &genai.FileData{FileURI: "gs://b/o"}}, {ExecutableCode: &genai.ExecutableCode{Code: "1"}}, {CodeExecutionResult: &genai.CodeExecutionResult{Output: "1"}},
		}}),
	)
	require.NoError(t, err)
	require.Equal(
		t,
		[]geminitest.Part{
			{"inlineData": map[string]any{"mimeType": "image/png", "data": "cG5n"}},
			{"fileData": map[string]any{"fileUri": "gs://b/o"}},
			{
				"executableCode": map[string]any{"code": "1"},
			},
			{"codeExecutionResult": map[string]any{"output": "1"}},
		},
		srv.Requests()[0].Contents[0].Parts,
	)
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	config := func(c genai.GenerateContentConfig) *model.Request {
		return &model.Request{Contents: genai.Text("hello"), Config: &c}
	}
	elsewhere := func(o genai.HTTPOptions) *model.Request { return config(genai.GenerateContentConfig{HTTPOptions: &o}) }
	for name, c := range map[string]struct {
		req  *model.Request
		says string
	}{
		"another base URL":       {elsewhere(genai.HTTPOptions{BaseURL: "https://evil.example"}), "set the address and the number of attempts in gemini.Config"},
		"another API version":    {elsewhere(genai.HTTPOptions{APIVersion: "../x"}), "set the address and the number of attempts in gemini.Config"},
		"other retries":          {elsewhere(genai.HTTPOptions{RetryOptions: &genai.HTTPRetryOptions{}}), "set the address and the number of attempts in gemini.Config"},
		"arguments in pieces":    {config(genai.GenerateContentConfig{ToolConfig: &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{StreamFunctionCallArguments: genai.Ptr(true)}}}), "StreamFunctionCallArguments"},
		"candidates":             {config(genai.GenerateContentConfig{CandidateCount: 2}), "CandidateCount"},
		"several requests":       {config(genai.GenerateContentConfig{AutomaticContinuation: genai.Ptr(true)}), "AutomaticContinuation"},
		"contents without JSON":  {request(false, &genai.Content{Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{Name: "f", Response: map[string]any{"x": math.NaN()}}}}}), "not JSON"},
		"config without JSON":    {config(genai.GenerateContentConfig{ResponseJsonSchema: func() {}}), "not JSON"},
		"a model that is a path": {&model.Request{Model: "../" + canary, Contents: genai.Text("x")}, "invalid model parameter"},
		"what the API lacks":     {config(genai.GenerateContentConfig{AudioTimestamp: true}), "audioTimestamp parameter"},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, stream bool) {
				m, srv := start(t)
				c.req.Stream = stream
				require.ErrorContains(t, fails(t, m, c.req, "INVALID_ARGUMENT"), c.says)
				require.Empty(t, srv.Requests())
			})
		})
	}
	m, err := gemini.New(t.Context(),
		gemini.Config{APIKey: canary, Backend: genai.BackendGeminiAPI})
	require.NoError(t, err)
	require.ErrorContains(t, fails(t, m, request(false), "INVALID_ARGUMENT"),
		"set gemini.Config.Model")
}

// clearEnvironment leaves the environment without anything that the SDK reads.
func clearEnvironment(t *testing.T) {
	for _, name := range []string{"GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_APPLICATION_CREDENTIALS"} {
		t.Setenv(name, "") // so that it is put back
		require.NoError(t, os.Unsetenv(name))
	}
	t.Setenv("HOME", t.TempDir()) // where credentials could be
}

func TestTheEnvironment(t *testing.T) {
	const vertex = "/v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent"
	for name, c := range map[string]struct {
		env    map[string]string
		config gemini.Config
		path   string
		key    string
	}{
		"a key":               {map[string]string{"GEMINI_API_KEY": canary, "GOOGLE_GEMINI_BASE_URL": "URL"}, gemini.Config{}, "/v1beta/models/m:generateContent", canary},
		"another name":        {map[string]string{"GOOGLE_API_KEY": canary, "GOOGLE_GEMINI_BASE_URL": "URL"}, gemini.Config{}, "/v1beta/models/m:generateContent", canary},
		"a Config wins":       {map[string]string{"GOOGLE_API_KEY": "other", "GOOGLE_GEMINI_BASE_URL": "http://other.invalid"}, gemini.Config{APIKey: canary, BaseURL: "URL"}, "/v1beta/models/m:generateContent", canary},
		"a path before":       {map[string]string{"GEMINI_API_KEY": canary}, gemini.Config{BaseURL: "URL/"}, "/v1beta/models/m:generateContent", canary},
		"Vertex AI":           {map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l", "GOOGLE_VERTEX_BASE_URL": "URL"}, gemini.Config{Project: "p", Location: "l", HTTPClient: &http.Client{}}, vertex, ""},
		"Vertex AI by Config": {nil, gemini.Config{Backend: genai.BackendVertexAI, Project: "p", Location: "l", BaseURL: "URL", HTTPClient: &http.Client{}}, vertex, ""},
		"express mode":        {nil, gemini.Config{Backend: genai.BackendVertexAI, APIKey: canary, BaseURL: "URL"}, "/v1beta1/publishers/google/models/m:generateContent", canary},
	} {
		t.Run(name, func(t *testing.T) {
			srv := geminitest.New(geminitest.Text("ok"))
			defer srv.Close()
			clearEnvironment(t)
			for k, v := range c.env {
				t.Setenv(k, at(srv, v))
			}
			c.config.Model, c.config.BaseURL = "m", at(srv, c.config.BaseURL)
			m, err := gemini.New(t.Context(), c.config)
			require.NoError(t, err)
			_, whole, err := ask(t, t.Context(), m, request(false))
			require.NoError(t, err)
			require.Equal(t, "ok", text(whole))
			r := srv.Requests()[0]
			require.Equal(t, c.path, r.Path)
			require.Equal(t, c.key, r.Header.Get("X-Goog-Api-Key"))
		})
	}
}

func at(srv *geminitest.Server, url string) string {
	switch url {
	case "URL":
		return srv.URL
	case "URL/":
		return srv.URL + "/"
	}
	return url
}

func TestWithoutCredentials(t *testing.T) {
	clearEnvironment(t)
	_, err := gemini.New(t.Context(), gemini.Config{})
	require.ErrorContains(
		t,
		err,
		"api key is required for Google AI backend (a key is Config.APIKey, or GEMINI_API_KEY in the environment",
	)
	_, err = gemini.New(t.Context(), gemini.Config{Backend: genai.BackendVertexAI})
	require.ErrorContains(t, err, "project/location or API key must be set")
	_, err = gemini.New(t.Context(), gemini.Config{KeyFrom: "the variable MYKEY"})
	require.ErrorContains(t, err,
		"api key is required for Google AI backend (a key is the variable MYKEY; ")
}

// A key that is not valid is an error that says what to check, whatever its status; another refusal is not about it.
func TestTheKeyIsNotValid(t *testing.T) {
	invalid := `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`
	for name, c := range map[string]struct {
		from   string
		status int
		body   string
		want   string
	}{
		"400":           {"", 400, invalid, "API key not valid.; check Config.APIKey, GOOGLE_API_KEY and GEMINI_API_KEY"},
		"401":           {"the variable MYKEY", 401, `{"error":{"code":401,"message":"no","status":"UNAUTHENTICATED"}}`, "no; check the variable MYKEY"},
		"another 400":   {"", 400, `{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`, "no"},
		"not permitted": {"", 403, `{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}`, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := over(
				t,
				gemini.Config{KeyFrom: c.from},
				func(*http.Request) (*http.Response, error) { return respond(c.status, c.body), nil },
			)
			_, _, err := ask(t, t.Context(), m, request(false))
			var failed *model.Error
			require.ErrorAs(t, err, &failed)
			require.EqualError(t, failed.Err, c.want)
		})
	}
}

// The HTTP client that is given is not changed.
func TestTheHTTPClientIsCopied(t *testing.T) {
	srv := geminitest.New()
	defer srv.Close()
	c := config(srv)
	c.HTTPClient = &http.Client{Timeout: time.Minute}
	_, err := gemini.New(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, &http.Client{Timeout: time.Minute}, c.HTTPClient)
}

func TestManyAtOnce(t *testing.T) {
	m, _ := start(
		t,
		geminitest.Forever(geminitest.Func(func(r *geminitest.Request) geminitest.Answer {
			return geminitest.Stream(geminitest.Text("echo "), geminitest.Text(r.Text()))
		})),
	)
	req := request(true, genai.Text("hi")[0])
	req.Config = &genai.GenerateContentConfig{HTTPOptions: &genai.HTTPOptions{}}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			var last *model.Response
			for r, err := range m.Generate(t.Context(), req) { // one request, shared
				if err != nil {
					t.Error(err)
				}
				last = r
			}
			if last == nil || text(last) != "echo hi" {
				t.Errorf("%+v", last)
			}
		})
	}
	all.Wait()
}
