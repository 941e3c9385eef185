package config

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/gemini"
	"github.com/plughook/plughook/model/openai"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/yamlfile"
)

// modelConfig has exactly one kind: a key of the list modelKinds.
type modelConfig struct {
	Name   string        `yaml:"name" json:"name" jsonschema:"what agents call the model"`
	Gemini *geminiConfig `yaml:"gemini" json:"gemini,omitempty" jsonschema:"a model of Google; the key is read from GEMINI_API_KEY or GOOGLE_API_KEY"`
	OpenAI *openaiConfig `yaml:"openai" json:"openai,omitempty" jsonschema:"a model behind an OpenAI-compatible address, such as a local server's; the key is read from OPENAI_API_KEY"`
	Script *scriptConfig `yaml:"script" json:"script,omitempty" jsonschema:"answers by rule, from a file, without a key or a network"`
}

type geminiConfig struct {
	Model     string `yaml:"model" json:"model" jsonschema:"the model's name, such as gemini-2.5-flash"`
	BaseURL   string `yaml:"base_url" json:"base_url,omitempty" jsonschema:"an address in place of Google's; GOOGLE_GEMINI_BASE_URL if empty"`
	Project   string `yaml:"project" json:"project,omitempty" jsonschema:"a project of Google Cloud: the model is asked through Vertex AI"`
	Location  string `yaml:"location" json:"location,omitempty" jsonschema:"the project's location, such as europe-west1"`
	APIKeyEnv string `yaml:"api_key_env" json:"api_key_env,omitempty" jsonschema:"the environment variable that has the key; GEMINI_API_KEY or GOOGLE_API_KEY if empty"`
	Attempts  int    `yaml:"attempts" json:"attempts,omitempty" jsonschema:"how many times a call is tried before it fails"`
}

type openaiConfig struct {
	Model     string `yaml:"model" json:"model" jsonschema:"the model's name, as the server calls it"`
	BaseURL   string `yaml:"base_url" json:"base_url,omitempty" jsonschema:"the server's address, such as http://localhost:11434/v1; OPENAI_BASE_URL if empty"`
	APIKeyEnv string `yaml:"api_key_env" json:"api_key_env,omitempty" jsonschema:"the environment variable that has the key; OPENAI_API_KEY if empty"`
	Attempts  int    `yaml:"attempts" json:"attempts,omitempty" jsonschema:"how many times a call is tried before it fails"`
}

type scriptConfig struct {
	File string `yaml:"file" json:"file" jsonschema:"the file with the answers and their rules"`
}

// A modelKind is a key that a model's configuration can have.
type modelKind struct {
	name string
	// of returns the model that the short form KIND:WHAT stands for.
	of func(what string) *modelConfig
	// needs is the key that cannot be empty, and whether it is.
	needs func(*modelConfig) (key string, missing bool)
	// remote says that opening it may need a key.
	remote bool
	open   func(context.Context, *file, *modelConfig) (model.Model, error)
}

var modelKinds = []modelKind{
	{
		name:   "gemini",
		of:     func(what string) *modelConfig { return &modelConfig{Gemini: &geminiConfig{Model: what}} },
		needs:  func(m *modelConfig) (string, bool) { return "model", m.Gemini.Model == "" },
		remote: true,
		open:   openGemini,
	},
	{
		name:   "openai",
		of:     func(what string) *modelConfig { return &modelConfig{OpenAI: &openaiConfig{Model: what}} },
		needs:  func(m *modelConfig) (string, bool) { return "model", m.OpenAI.Model == "" },
		remote: true,
		open:   openOpenAI,
	},
	{
		name:  "script",
		of:    func(what string) *modelConfig { return &modelConfig{Script: &scriptConfig{File: what}} },
		needs: func(m *modelConfig) (string, bool) { return "file", m.Script.File == "" },
		open:  openScript,
	},
}

func openGemini(ctx context.Context, _ *file, m *modelConfig) (model.Model, error) {
	g := m.Gemini
	key, err := secret(g.APIKeyEnv)
	if err != nil {
		return nil, fmt.Errorf("api_key_env: %w", err)
	}
	made := gemini.Config{
		Model:    g.Model,
		APIKey:   key,
		KeyFrom:  keyFrom(g.APIKeyEnv, "GEMINI_API_KEY"),
		BaseURL:  g.BaseURL,
		Project:  g.Project,
		Location: g.Location,
		Attempts: g.Attempts,
	}
	if g.Project != "" {
		made.Backend = genai.BackendVertexAI
	}
	return gemini.New(ctx, made)
}

func openOpenAI(_ context.Context, _ *file, m *modelConfig) (model.Model, error) {
	key, err := secret(m.OpenAI.APIKeyEnv)
	if err != nil {
		return nil, fmt.Errorf("api_key_env: %w", err)
	}
	return openai.New(openai.Config{
		Model:    m.OpenAI.Model,
		APIKey:   key,
		KeyFrom:  keyFrom(m.OpenAI.APIKeyEnv, "OPENAI_API_KEY"),
		BaseURL:  m.OpenAI.BaseURL,
		Attempts: m.OpenAI.Attempts,
	})
}

func openScript(ctx context.Context, c *file, m *modelConfig) (model.Model, error) {
	return input.Within(ctx, func() (model.Model, error) { return script.Load(c.path(m.Script.File)) })
}

// secret returns what an environment variable has; "" stands for none.
func secret(variable string) (string, error) {
	value := os.Getenv(variable)
	if variable != "" && value == "" {
		return "", fmt.Errorf("the environment variable %s is not set", variable)
	}
	return value, nil
}

// keyFrom says where a model's key comes from, for errors: from the variable that the configuration
// names, or the usual one.
func keyFrom(variable, usual string) string {
	if variable != "" {
		return "the environment variable " + variable + ", which api_key_env: names"
	}
	return "the environment variable " + usual + ", or another one that api_key_env: names"
}

// kinds returns the kinds that the model's configuration names: one, if it is right.
func (m *modelConfig) kinds() []modelKind {
	return slices.DeleteFunc(slices.Clone(modelKinds), func(k modelKind) bool { return !given(m, k.name) })
}

func modelKindNames() (list []string) {
	for _, k := range modelKinds {
		list = append(list, k.name)
	}
	return list
}

func (c *file) checkModels(bad complaint) {
	names := c.names("model")
	for i := range c.Models {
		m := &c.Models[i]
		path := fmt.Sprintf("models[%d]", i)
		kinds := m.kinds()
		switch {
		case m.Name == "":
			bad(path, "the model has no name; agents need one to call it by")
		case strings.Contains(m.Name, ":"):
			bad(path+".name", "the name %q has a colon; in an agent, that would be KIND:WHAT", m.Name)
		case len(kinds) == 0:
			bad(path, "the model has no kind; give it one of: %s", strings.Join(modelKindNames(), ", "))
		case len(kinds) > 1:
			bad(path, "the model has %d kinds, %s and %s; write one model for each", len(kinds),
				kinds[0].name, kinds[1].name)
		default:
			names.take(bad, path, m.Name)
			if key, missing := kinds[0].needs(m); missing {
				bad(path+"."+kinds[0].name, "%s needs %s:", kinds[0].name, key)
			}
			if m.Gemini != nil {
				checkAddress(bad, path+".gemini.base_url", m.Gemini.BaseURL)
				checkAbove0(c, bad, path+".gemini.attempts", m.Gemini.Attempts)
			} else if m.OpenAI != nil {
				checkAddress(bad, path+".openai.base_url", m.OpenAI.BaseURL)
				checkAbove0(c, bad, path+".openai.attempts", m.OpenAI.Attempts)
			}
		}
	}
}

// checkAddress complains about an address that is not valid, without quoting it: a key may be in
// it.
func checkAddress(bad complaint, path, address string) {
	u, err := url.Parse(address)
	switch {
	case address == "":
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		bad(path, "base_url must be http:// or https://, then a host and a path")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		bad(path, "base_url must not have a user, a query or a fragment; put a key into an environment variable, and name that with api_key_env:")
	}
}

// model returns the model that an agent names.
func (c *file) model(ref string) (*modelConfig, error) {
	kind, what, short := strings.Cut(ref, ":")
	if short {
		for _, k := range modelKinds {
			if k.name == kind && what != "" {
				return k.of(what), nil
			}
		}
		if what == "" {
			return nil, fmt.Errorf("model %q names no model after the colon", ref)
		}
		return nil, fmt.Errorf("model %q: unknown kind %q%s", ref, kind,
			yamlfile.Meant(kind, modelKindNames()))
	}
	var names []string
	for i := range c.Models {
		if c.Models[i].Name == ref {
			return &c.Models[i], nil
		}
		names = append(names, c.Models[i].Name)
	}
	if hint := yamlfile.Guess(ref, names); hint != "" {
		return nil, fmt.Errorf("unknown model %q%s", ref, hint)
	}
	return nil, fmt.Errorf("unknown model %q; put it into models:, or name its kind too, as in gemini:%s (kinds: %s)", ref, ref, strings.Join(modelKindNames(), ", "))
}

// price is Config.Price.
func (c *file) price(name string) (prices.Price, bool) {
	table := c.prices()
	if table.Currency != "USD" {
		return prices.Price{}, false
	}
	price, ok := table.Models[name]
	if ok {
		return price, true
	}
	m, err := c.model(name)
	switch {
	case err != nil:
	case m.Gemini != nil:
		price, ok = table.Models[m.Gemini.Model]
	case m.OpenAI != nil:
		price, ok = table.Models[m.OpenAI.Model]
	}
	return price, ok
}

// Model opens a model, by its name in the configuration or as KIND:WHAT.
func (c *Config) Model(ctx context.Context, name string) (model.Model, error) {
	return c.file.openModel(ctx, name, false)
}

// Price returns what a model costs in USD, by its name in the configuration or by the one that it
// reports, and false if that is not known.
func (c *Config) Price(name string) (prices.Price, bool) { return c.file.price(name) }

// openModel opens a model that something other than an agent names; dry opens none that may need a
// key.
func (c *file) openModel(ctx context.Context, ref string, dry bool) (model.Model, error) {
	m, err := c.model(ref)
	if err != nil {
		return nil, err
	}
	kind := m.kinds()[0]
	if dry && kind.remote {
		return notOpened{}, nil
	}
	return kind.open(ctx, c, m)
}

// notOpened stands for a model while a configuration is checked, which asks none.
type notOpened struct{}

func (notOpened) Generate(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		yield(nil, errors.New("the model was not opened"))
	}
}

// keys returns the environment variables of which one must have the model's key, none if it may do
// without.
func (m *modelConfig) keys() []string {
	switch {
	case m.Gemini != nil && m.Gemini.APIKeyEnv != "":
		return []string{m.Gemini.APIKeyEnv}
	case m.Gemini != nil && m.Gemini.Project == "":
		return []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}
	case m.OpenAI != nil && m.OpenAI.APIKeyEnv != "":
		return []string{m.OpenAI.APIKeyEnv}
	case m.OpenAI != nil && m.OpenAI.BaseURL == "" && os.Getenv("OPENAI_BASE_URL") == "":
		return []string{"OPENAI_API_KEY"}
	}
	return nil // Google Cloud's own credentials, a server that may take any call, a script
}
