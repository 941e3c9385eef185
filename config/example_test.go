package config_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// A program loads a configuration, opens what it names, runs the agent, and closes everything.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "config-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"runner.yaml": `
agent: {model: "script:answers.yaml"}
plugins:
  - earlyexit: {rules: [{text: "(?i)opening hours", answer: We are here from 8 to 20.}]}
`,
		"answers.yaml": `- {say: "You said: {{.user}}"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}

	c, err := config.Load(ctx, filepath.Join(dir, "runner.yaml"))
	if err != nil {
		log.Fatal(err) // it says file, line and column
	}
	parts, err := c.Open(ctx, config.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer parts.Close(ctx)
	r, err := runner.New(
		runner.Options{Agent: parts.Agent, Sessions: parts.Sessions, Plugins: parts.Plugins})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close(ctx)

	key := session.Key{App: "desk", User: "ada", ID: "1"}
	for _, text := range []string{"Hello", "What are your opening hours?"} {
		for e, err := range r.Run(ctx, key, session.Message(text), session.RunConfig{Create: true}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("%s: %s\n", e.Author, e.Text())
		}
	}
	// Output:
	// user: Hello
	// agent: You said: Hello
	// user: What are your opening hours?
	// plugin/earlyexit: We are here from 8 to 20.
}

// An error in a configuration has its place, and the word that was probably meant.
func ExampleParse_errors() {
	_, err := config.Parse("runner.yaml", []byte(`agent:
  modle: script:answers.yaml
plugins:
  - loger: {}
`))
	fmt.Println(err)
	// Output:
	// runner.yaml:2:3: unknown key "modle"; did you mean "model"?
	// runner.yaml:4:5: unknown key "loger"; did you mean "logger"?
}
