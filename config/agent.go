package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/agent/a2a"
	"github.com/plughook/plughook/internal/lazyregexp"
)

// agentConfig is an agent that asks a model, or has one of the kinds sequential, parallel, loop,
// workflow, replay and a2a.
type agentConfig struct {
	Name        string `yaml:"name" json:"name,omitempty" jsonschema:"the author of the agent's events; the outermost is called agent if it has none"`
	Description string `yaml:"description" json:"description,omitempty" jsonschema:"what the agent is for; other agents read this to decide whether to hand over to it or to call it"`
	Model       string `yaml:"model" json:"model,omitempty" jsonschema:"the model: the name of an entry of models, or KIND:NAME for one without settings, such as gemini:gemini-2.5-flash, openai:gpt-5 or script:FILE; if empty, the model of the agent around this one"`

	Instruction   string          `yaml:"instruction" json:"instruction,omitempty" jsonschema:"the system instruction; {key} in it is replaced by the value of a state key, {key?} by that of a key that may be missing"`
	Tools         []string        `yaml:"tools" json:"tools,omitempty" jsonschema:"what the model can call: names of tools, servers (all their tools), SERVER/TOOL, recall (reads what a summary stands for), or exit_loop"`
	Agents        []agentConfig   `yaml:"agents" json:"agents,omitempty" jsonschema:"agents that it can hand over to"`
	Calls         []agentConfig   `yaml:"calls" json:"calls,omitempty" jsonschema:"agents that it can call like tools; each call is a conversation of its own"`
	NoParent      bool            `yaml:"no_parent" json:"no_parent,omitempty" jsonschema:"it cannot hand back to the agent around this one"`
	NoPeers       bool            `yaml:"no_peers" json:"no_peers,omitempty" jsonschema:"it cannot hand over to the other agents of the agent around this one"`
	InputSchema   map[string]any  `yaml:"input_schema" json:"input_schema,omitempty" jsonschema:"the JSON schema of the arguments of an agent that is called like a tool; if empty, the only argument is a string, request"`
	OutputSchema  map[string]any  `yaml:"output_schema" json:"output_schema,omitempty" jsonschema:"the JSON schema of its answer, which then is JSON"`
	OutputKey     string          `yaml:"output_key" json:"output_key,omitempty" jsonschema:"a state key that the answer is saved under"`
	Blind         bool            `yaml:"blind" json:"blind,omitempty" jsonschema:"its model is not shown earlier turns"`
	MaxModelCalls int             `yaml:"max_model_calls" json:"max_model_calls,omitempty" jsonschema:"how many times the model may be asked in one run; 100 if empty"`
	Timeout       time.Duration   `yaml:"timeout" json:"timeout,omitempty" jsonschema:"how long one run may take, such as 2m; no limit if empty"`
	Generate      *generateConfig `yaml:"generate" json:"generate,omitempty" jsonschema:"parameters for the model"`

	Sequential []agentConfig   `yaml:"sequential" json:"sequential,omitempty" jsonschema:"these agents, one after the other"`
	Parallel   []agentConfig   `yaml:"parallel" json:"parallel,omitempty" jsonschema:"these agents at once"`
	Loop       *loopConfig     `yaml:"loop" json:"loop,omitempty" jsonschema:"these agents one after the other, repeatedly, until one calls exit_loop"`
	Workflow   *workflowConfig `yaml:"workflow" json:"workflow,omitempty" jsonschema:"a graph of nodes: the output of each is the input of the nodes that edges lead to"`
	Replay     string          `yaml:"replay" json:"replay,omitempty" jsonschema:"a session file with one session: the recorded answers are played, the first to the first input and so on"`

	A2A      string `yaml:"a2a" json:"a2a,omitempty" jsonschema:"the URL of an agent that runs elsewhere, by the Agent2Agent protocol 1.0: its JSON-RPC interface, which its agent card names"`
	TokenEnv string `yaml:"token_env" json:"token_env,omitempty" jsonschema:"the environment variable that has the token for the agent at a2a, which is sent as a bearer token"`
}

type loopConfig struct {
	Limit  int           `yaml:"limit" json:"limit" jsonschema:"how many rounds at most"`
	Agents []agentConfig `yaml:"agents" json:"agents" jsonschema:"the agents"`
}

type generateConfig struct {
	Temperature     *float32 `yaml:"temperature" json:"temperature,omitempty" jsonschema:"how random the choice of words is; 0 is the least"`
	TopP            *float32 `yaml:"top_p" json:"top_p,omitempty" jsonschema:"words are chosen from the most likely ones, which together have this share of the probability"`
	TopK            *float32 `yaml:"top_k" json:"top_k,omitempty" jsonschema:"words are chosen from this many of the most likely ones"`
	MaxOutputTokens int32    `yaml:"max_output_tokens" json:"max_output_tokens,omitempty" jsonschema:"how long an answer may be; the model's limit if empty"`
	Stop            []string `yaml:"stop" json:"stop,omitempty" jsonschema:"texts that end the answer"`
	Seed            *int32   `yaml:"seed" json:"seed,omitempty" jsonschema:"the same seed makes equal answers to equal requests more likely"`
	ThinkingBudget  *int32   `yaml:"thinking_budget" json:"thinking_budget,omitempty" jsonschema:"how many tokens the model may think; 0 turns it off, -1 leaves it to the model"`
}

// agentKinds are the kinds beside the one that asks a model; llmKeys the keys of that one alone.
var (
	agentKinds = []string{"sequential", "parallel", "loop", "workflow", "replay", "a2a"}
	llmKeys    = []string{"instruction", "tools", "agents", "calls", "no_parent", "no_peers",
		"input_schema", "output_schema",
		"output_key", "blind", "max_model_calls", "timeout", "generate"}
	agentName = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
)

func (c *file) checkAgents(bad complaint) {
	if c.Agent == nil {
		return
	}
	if c.Agent.Name == "" {
		c.Agent.Name = "agent"
	}
	c.checkAgent(bad, "agent", c.Agent, "", c.names("agent"))
}

// checkAgent checks an agent and those below it; above is the model that it has if it names none.
func (c *file) checkAgent(bad complaint, path string, a *agentConfig, above string, names *names) {
	switch {
	case a.Name == "":
		bad(path, "the agent has no name; only the outermost needs none")
	case !agentName.MatchString(a.Name) || a.Name == "user":
		bad(path+".name", "an agent cannot be named %q: 1 to 64 letters, digits, '_' and '-', the first a letter or '_', and not user", a.Name)
	default:
		names.take(bad, path, a.Name)
	}
	kinds := c.keysAt(path, agentKinds)
	if a.Model != "" {
		above = a.Model
		if !slices.Contains(kinds, "replay") && !slices.Contains(kinds, "a2a") {
			if _, err := c.model(a.Model); err != nil {
				bad(path+".model", "%w", err)
			}
		}
	}
	switch {
	case len(kinds) > 1:
		bad(path, "the agent has %d kinds, %s and %s; write one agent for each", len(kinds), kinds[0],
			kinds[1])
		return
	case len(kinds) == 1:
		c.checkKind(bad, path, a, kinds[0])
	case above == "":
		bad(path, "agent %s has no model; give it one, such as model: gemini:gemini-2.5-flash", a.Name)
	}
	if a.A2A == "" && c.source.Has(path+".token_env") {
		bad(path+".token_env", "only an agent that runs elsewhere (a2a) has a token")
	}
	for i, name := range a.Tools {
		if err := c.checkTool(name); err != nil {
			bad(fmt.Sprintf("%s.tools[%d]", path, i), "%w", err)
		}
	}
	checkAbove0(c, bad, path+".timeout", a.Timeout)
	checkAbove0(c, bad, path+".max_model_calls", a.MaxModelCalls)
	if a.Generate != nil {
		checkAbove0(c, bad, path+".generate.max_output_tokens", a.Generate.MaxOutputTokens)
	}
	if a.Workflow != nil {
		c.checkWorkflow(bad, path+".workflow", a.Workflow, above, names)
		return
	}
	for _, in := range a.inside() {
		c.checkAgent(bad, path+"."+in.path, in.agent, above, names)
	}
}

// checkKind checks an agent that asks no model.
func (c *file) checkKind(bad complaint, path string, a *agentConfig, kind string) {
	for _, key := range c.keysAt(path, llmKeys) {
		bad(path+"."+key, "only an agent that asks a model can have %s; this one is of the kind %s", key, kind)
	}
	switch {
	case kind == "replay" && path != "agent":
		bad(path+".replay", "only the outermost agent can replay a session")
	case kind == "replay" && a.Replay == "":
		bad(path+".replay", "replay needs a session file")
	case kind == "replay" && c.source.Has(path+".model"):
		bad(path+".model", "an agent that replays a session asks no model")
	case kind == "loop" && a.Loop.Limit < 1:
		bad(path+".loop", "the loop needs limit:, at least 1")
	case kind == "a2a" && c.source.Has(path+".model"):
		bad(path+".model", "an agent that runs elsewhere asks no model here")
	case kind == "a2a":
		// Neither value is quoted: a key may be in it.
		if _, err := a2a.New(a.Name, a.Description, a.A2A, a2a.Options{}); err != nil {
			bad(path+".a2a", "%w", err)
		}
		if a.TokenEnv != "" && (!envName.MatchString(a.TokenEnv) || strings.Contains(a.TokenEnv, "=")) {
			bad(path+".token_env", "the value is not the name of an environment variable")
		}
	}
	if slices.Contains([]string{"sequential", "parallel", "loop"}, kind) && len(a.inside()) == 0 {
		bad(path+"."+kind, "there are no agents in it")
	}
}

// An inside is an agent in another one, and its path below that.
type inside struct {
	path  string
	agent *agentConfig
}

// inside lists the agents in an agent.
func (a *agentConfig) inside() (all []inside) {
	list := func(key string, agents []agentConfig) {
		for i := range agents {
			all = append(all, inside{path: fmt.Sprintf("%s[%d]", key, i), agent: &agents[i]})
		}
	}
	list("agents", a.Agents)
	list("calls", a.Calls)
	list("sequential", a.Sequential)
	list("parallel", a.Parallel)
	if a.Loop != nil {
		list("loop.agents", a.Loop.Agents)
	}
	return append(all, a.Workflow.agents("workflow")...)
}
