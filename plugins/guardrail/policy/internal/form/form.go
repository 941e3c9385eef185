// Package form is what a policy file may say: its keys, and what the schema and the reference page say of them.
package form

import (
	"time"

	"github.com/plughook/plughook/plugins/guardrail/policy/file"
	"github.com/plughook/plughook/session"
)

// A File is a policy file as it is written. Its tags are the file's keys, and their documentation in the schema and in
// the reference page.
type File struct {
	Version      int                    `yaml:"version" json:"version,omitempty" jsonschema:"The version of this form: 1."`
	Release      string                 `yaml:"release" json:"release,omitempty" jsonschema:"Your name of this version of the policy, such as 2026-11-22.1. It is in each record, beside the revision."`
	Include      []string               `yaml:"include" json:"include,omitempty" jsonschema:"Files with rules, tests, lists, allow, trusted_tools, pin_tools and command_tools that are a part of this policy, from the directory of this file."`
	Lists        map[string]any         `yaml:"lists" json:"lists,omitempty" jsonschema:"Lists of texts by name: the texts, or {file: PATH} with one in each line. A reference such as @partners stands for all texts of a list, in words, urls, allow, scope, trusted_tools, pin_tools and tools."`
	Allow        Allow                  `yaml:"allow" json:"allow,omitzero" jsonschema:"What passes though a detector of a rule finds it, for all rules."`
	Mode         string                 `yaml:"mode" json:"mode,omitempty" jsonschema:"enforce (the default), or shadow: nothing is changed, and the records say what would be."`
	OnError      string                 `yaml:"on_error" json:"on_error,omitempty" jsonschema:"What becomes of a text that could not be judged: block (the default), or allow, which marks the event as not checked."`
	Limits       Limits                 `yaml:"limits" json:"limits,omitzero" jsonschema:"How much of a text is judged."`
	Judges       Judges                 `yaml:"judges" json:"judges,omitzero" jsonschema:"What the models that rules ask may use, together, in each process. When it is used up, no model is asked, and on_error of the rule decides."`
	Ask          session.Approver       `yaml:"ask" json:"ask,omitzero" jsonschema:"Who is asked by rules with the action ask, and about calls of tools that are not what was pinned. The default is the session's own user."`
	TenantKey    string                 `yaml:"tenant_key" json:"tenant_key,omitempty" jsonschema:"The key in the session's state that has the tenant, such as user:tenant."`
	TrustedTools []string               `yaml:"trusted_tools" json:"trusted_tools,omitempty" jsonschema:"Globs of tools whose answers are trusted. The answers of all others taint the session."`
	PinTools     []string               `yaml:"pin_tools" json:"pin_tools,omitempty" jsonschema:"Globs of tools whose declarations are pinned in the lockfile beside the policy, which runner policy pin writes. One that has changed is not shown to a model, and a human is asked about the tool's calls. One with ! excludes."`
	CommandTools map[string]CommandTool `yaml:"command_tools" json:"command_tools,omitempty" jsonschema:"The tools that run command lines, as globs, and the arguments in which they are given them."`
	Rules        []Rule                 `yaml:"rules" json:"rules,omitempty" jsonschema:"The rules. Their order does not matter."`
	Tests        []Test                 `yaml:"tests" json:"tests,omitempty" jsonschema:"What the policy has to make of some texts."`
}

type Limits struct {
	MaxBytes  int    `yaml:"max_bytes" json:"max_bytes,omitempty" jsonschema:"The longest text that is judged, in bytes. The default is 1048576."`
	OverLimit string `yaml:"over_limit" json:"over_limit,omitempty" jsonschema:"What becomes of a longer text: block (the default), or flag, which lets it pass unjudged."`
}

type Rule struct {
	ID      string           `yaml:"id" json:"id" jsonschema:"The rule's name in records and refusals."`
	Stages  []string         `yaml:"stages" json:"stages,omitempty" jsonschema:"Where the rule judges: input, prompt, output, tool_args, tool_result, summary. The default is all but prompt; for a rule with tools it is tool_args."`
	Scope   Scope            `yaml:"scope" json:"scope,omitzero" jsonschema:"Whose texts the rule judges. The default is everybody's."`
	Detect  Detect           `yaml:"detect" json:"detect,omitzero" jsonschema:"What the rule looks for. Without detect, tools and judge it acts on every text."`
	When    string           `yaml:"when" json:"when,omitempty" jsonschema:"A condition in the language of expr-lang.org, about stage, app, user, tenant, agent, branch, tool.name, tool.args, text, state, taint, tainted, files, and session.flagged(NAME) and turn.flagged(NAME): whether a rule has found something before, or something of a type was found. Its result is true or false. It sees what tokens of the vault stand for. It has a second and 64 MiB of memory; repeat and uniq are not there."`
	Tools   Tools            `yaml:"tools" json:"tools,omitzero" jsonschema:"Which tools may be called. It replaces detect and action."`
	Judge   Judge            `yaml:"judge" json:"judge,omitzero" jsonschema:"A service or a model that is asked about the text. It replaces detect."`
	Allow   Allow            `yaml:"allow" json:"allow,omitzero" jsonschema:"What of the detectors' findings passes."`
	Score   float64          `yaml:"min_score" json:"min_score,omitempty" jsonschema:"The least score with which the rule acts on a finding of its detectors, above 0 and at most 1. The default is any."`
	Action  any              `yaml:"action" json:"action,omitempty" jsonschema:"allow, flag, mask, vault, hash, replace, redact, ask or block; or an object with one for each type that the rule finds, and * for the other types."`
	Ask     session.Approver `yaml:"ask" json:"ask,omitzero" jsonschema:"Who is asked by the action ask. The default is the policy's, or else the session's own user."`
	With    string           `yaml:"with" json:"with,omitempty" jsonschema:"What the action replace puts in the place of what was found."`
	Message string           `yaml:"message" json:"message,omitempty" jsonschema:"What the caller, the model, or the human who is asked, is told."`
	// Severity and Tags are for whoever reads what the rule did.
	Severity string   `yaml:"severity" json:"severity,omitempty" jsonschema:"How bad it is that the rule acts: low, medium, high or critical. It is in decisions, records and metrics."`
	Tags     []string `yaml:"tags" json:"tags,omitempty" jsonschema:"Words of yours, such as pci. They are in decisions and records."`

	Mode   string `yaml:"mode" json:"mode,omitempty" jsonschema:"shadow or enforce. The default is the policy's mode."`
	Window string `yaml:"window" json:"window,omitempty" jsonschema:"part (the default) judges each text alone. turn and session judge it together with what was said before it at the same stage, in this run or in the session."`
	From   From   `yaml:"from" json:"from,omitzero" jsonschema:"Where data come from: the rule judges only once the session has them, until a rewind takes them out."`
	To     To     `yaml:"to" json:"to,omitzero" jsonschema:"Where they must not go just so: it stands for stages, and for scope.tool or detect.urls."`
	Trust  string `yaml:"trust" json:"trust,omitempty" jsonschema:"any (the default), or untrusted: only answers of tools that are not trusted, and what agents say and call once the session has such an answer."`
}

// From says where data come from.
type From struct {
	Tool   any      `yaml:"tool" json:"tool,omitempty" jsonschema:"Globs of tools: what they have answered."`
	Found  []string `yaml:"found" json:"found,omitempty" jsonschema:"Rules, or types of findings: what was found, in an answer of these tools if there are some."`
	Within string   `yaml:"within" json:"within,omitempty" jsonschema:"session (the default), or turn: only what came in this run."`
}

// To says where data go.
type To struct {
	Tool   any  `yaml:"tool" json:"tool,omitempty" jsonschema:"Globs of tools that are called."`
	Links  URLs `yaml:"links" json:"links,omitzero" jsonschema:"Links in answers that are not allowed."`
	Answer bool `yaml:"answer" json:"answer,omitempty" jsonschema:"true: what agents say."`
}

// Before is what the session of a test has had before.
type Before struct {
	Tool    string `yaml:"tool" json:"tool,omitempty" jsonschema:"The tool that has answered."`
	Found   string `yaml:"found" json:"found,omitempty" jsonschema:"The rule, or the type, of what was found in the answer; without a tool, in some text."`
	Earlier bool   `yaml:"earlier" json:"earlier,omitempty" jsonschema:"It was in an earlier turn."`
}

type Scope struct {
	App    any `yaml:"app" json:"app,omitempty" jsonschema:"A glob of apps' names, or a list of them. A glob that begins with ! excludes."`
	User   any `yaml:"user" json:"user,omitempty" jsonschema:"The same for users."`
	Tenant any `yaml:"tenant" json:"tenant,omitempty" jsonschema:"The same for tenants; it needs tenant_key."`
	Agent  any `yaml:"agent" json:"agent,omitempty" jsonschema:"The same for agents."`
	Branch any `yaml:"branch" json:"branch,omitempty" jsonschema:"The same for agents' branches."`
	Tool   any `yaml:"tool" json:"tool,omitempty" jsonschema:"The same for tools: at tool_args and tool_result, and at prompt for a tool's declaration, calls and answers."`
}

type Detect struct {
	Secrets   any    `yaml:"secrets" json:"secrets,omitempty" jsonschema:"default finds tokens, keys and passwords, of type SECRET. {level: strict} takes words for passwords, too, where a name says that they are some."`
	Injection string `yaml:"injection" json:"injection,omitempty" jsonschema:"default finds words that are to turn a model against its instructions, of type PROMPT_INJECTION. It is a hint: flag with it, and do not block."`
	PII       any    `yaml:"pii" json:"pii,omitempty" jsonschema:"default, or a list of types such as EMAIL_ADDRESS: personal data."`
	Words     any    `yaml:"words" json:"words,omitempty" jsonschema:"A list of words and phrases, of type WORD; or an object with a list for each type."`
	Regexp    any    `yaml:"regexp" json:"regexp,omitempty" jsonschema:"A regular expression of Go, of type REGEXP; or an object with one for each type. It is matched with one line at a time."`
	URLs      URLs   `yaml:"urls" json:"urls,omitzero" jsonschema:"Finds links that are not allowed, of type URL."`
	Length    Length `yaml:"length" json:"length,omitzero" jsonschema:"Finds texts that are longer, of type LENGTH."`
}

// Allow says which findings pass.
type Allow struct {
	Values   []string `yaml:"values" json:"values,omitempty" jsonschema:"Values, such as a telephone number of yours: they are compared without the blanks and signs that numbers are written with, and without case; secrets with case."`
	Domains  []string `yaml:"domains" json:"domains,omitempty" jsonschema:"Domains of e-mail addresses and links: corp.example, or *.corp.example for what is below it."`
	Patterns []string `yaml:"patterns" json:"patterns,omitempty" jsonschema:"Regular expressions of Go for all of a value, as it stands or as values are compared."`
}

type URLs struct {
	Allow   []string `yaml:"allow" json:"allow,omitempty" jsonschema:"The links that are allowed: hosts such as corp.example or *.corp.example, with or without scheme, port and path. If the list is empty, none is."`
	Schemes []string `yaml:"schemes" json:"schemes,omitempty" jsonschema:"The schemes that entries without one allow. The default is https and http."`
}

// Judges says what models that judge may use.
type Judges struct {
	Tokens int           `yaml:"tokens" json:"tokens,omitempty" jsonschema:"The most tokens, of questions and answers."`
	USD    float64       `yaml:"usd" json:"usd,omitempty" jsonschema:"The most dollars, by the prices of the configuration."`
	Share  float64       `yaml:"user_share" json:"user_share,omitempty" jsonschema:"How much of that one user may use, above 0 and at most 1. The default is 0.25."`
	Per    time.Duration `yaml:"per" json:"per" jsonschema:"The time in which that much may be used, such as 1h. It begins with the first question, and anew with the first one after its end."`
}

// Judge says who is asked: a service, or a model.
type Judge struct {
	URL       string        `yaml:"url" json:"url,omitempty" jsonschema:"The address of a service that the texts are sent to: https, or http on this machine."`
	HeaderEnv string        `yaml:"header_env" json:"header_env,omitempty" jsonschema:"The environment variable with a header for the service, such as Authorization: Bearer TOKEN."`
	Model     string        `yaml:"model" json:"model,omitempty" jsonschema:"A model, in place of a service: the name of one of the configuration's models, or KIND:NAME as in an agent."`
	Question  string        `yaml:"question" json:"question,omitempty" jsonschema:"What the model is asked about a text. The answer yes flags it. With grounding there is a default."`
	Examples  []Example     `yaml:"examples" json:"examples,omitempty" jsonschema:"Texts that show the model what the question means."`
	Grounding bool          `yaml:"grounding" json:"grounding,omitempty" jsonschema:"The model is sent what tools have answered in the run, too, and flags what does not follow from it. It is for the stage output, and the model is not asked where no tool has answered."`
	Threshold float64       `yaml:"threshold" json:"threshold,omitempty" jsonschema:"The least score with which the rule acts on a text, above 0 and at most 1. The default is 0.5 for a model, and any score for a service."`
	Timeout   time.Duration `yaml:"timeout" json:"timeout" jsonschema:"How long an event waits for the answer, such as 3s."`
	OnError   string        `yaml:"on_error" json:"on_error" jsonschema:"What becomes of a text without an answer: block, or allow, which marks the event as not checked."`
	Sees      string        `yaml:"sees" json:"sees,omitempty" jsonschema:"What is sent: edited (the default), the text as the policy's other rules leave it, or original, the text as it came."`
}

// Example is a text, and what the answer about it is.
type Example struct {
	Text    string `yaml:"text" json:"text" jsonschema:"The text."`
	Flagged bool   `yaml:"flagged" json:"flagged" jsonschema:"Whether the answer to the question is yes."`
}

// CommandTool says in which arguments a tool is given what it runs.
type CommandTool struct {
	Line  string `yaml:"line" json:"line,omitempty" jsonschema:"The argument with the command line, or a list of lines."`
	Words string `yaml:"words" json:"words,omitempty" jsonschema:"The argument with the words behind the line, or, without line, with the whole command as a list of words."`
	Dir   string `yaml:"dir" json:"dir,omitempty" jsonschema:"The argument with the directory to run in."`
	Env   string `yaml:"env" json:"env,omitempty" jsonschema:"The argument with environment variables."`
}

// Tools are lists of tools, as globs, of commands that a tool runs, shell(git push*), and of paths
// that commands read and write, reads(secrets/**).
type Tools struct {
	Deny []string `yaml:"deny" json:"deny,omitempty" jsonschema:"Globs of tools; commands that a tool of command_tools is given to run, such as shell(rm *); and paths that such commands read or write, such as reads(secrets/**) and writes(/etc/**), or what such commands do, such as effects(network). These calls are answered with an error."`
	Ask  []string `yaml:"ask" json:"ask,omitempty" jsonschema:"Calls that a human is asked about. A command line that cannot be resolved is asked about, too."`
	// Approve is a list of its own, since hooks of coding agents skip their own dialogs for it.
	Approve []string `yaml:"approve" json:"approve,omitempty" jsonschema:"Calls that pass without anybody being asked: a coding agent shows no dialog of its own. As in allow, each command of a line has to be in the list."`
	Allow   []string `yaml:"allow" json:"allow,omitempty" jsonschema:"Calls that pass, if neither deny nor ask names them. effects(reads, network) is about commands that do nothing else."`
	Other   string   `yaml:"other" json:"other,omitempty" jsonschema:"What becomes of calls that no list names: allow (the default), ask or block."`
}

type Length struct {
	Bytes  int `yaml:"bytes" json:"bytes,omitempty" jsonschema:"The most bytes, in UTF-8."`
	Tokens int `yaml:"tokens" json:"tokens,omitempty" jsonschema:"The most tokens, counted as a quarter of the bytes."`
}

// A Test says what a policy has to make of a text.
type Test struct {
	Name   string `yaml:"name" json:"name" jsonschema:"What the test is about."`
	Stage  string `yaml:"stage" json:"stage" jsonschema:"Where the text stands."`
	Text   string `yaml:"text" json:"text,omitempty" jsonschema:"The text."`
	App    string `yaml:"app" json:"app,omitempty" jsonschema:"The app of the session."`
	User   string `yaml:"user" json:"user,omitempty" jsonschema:"The user of the session."`
	Agent  string `yaml:"agent" json:"agent,omitempty" jsonschema:"The agent that says or calls it."`
	Branch string `yaml:"branch" json:"branch,omitempty" jsonschema:"The agent's branch."`
	Tool   string `yaml:"tool" json:"tool,omitempty" jsonschema:"The tool that is called, or answers."`

	Args   map[string]any `yaml:"args" json:"args,omitempty" jsonschema:"What the tool is called with. At tool_args each text in it is judged, as in a run."`
	State  map[string]any `yaml:"state" json:"state,omitempty" jsonschema:"The session's state."`
	Judge  map[string]any `yaml:"judge" json:"judge,omitempty" jsonschema:"What the judges of rules answer, by the rules' ids: true for one that flags the text, or the answer itself as a text, which is read as in a run. No judge is asked in a test, so a test needs the answer of each judge that would be asked about its text."`
	Files  []file.File    `yaml:"files" json:"files,omitempty" jsonschema:"The files that are judged, in place of a text."`
	Before []Before       `yaml:"before" json:"before,omitempty" jsonschema:"What the session has had before, for rules with from and conditions about session and turn."`
	Taint  []string       `yaml:"taint" json:"taint,omitempty" jsonschema:"The tools that are not trusted and whose answers the session has."`

	Want  string `yaml:"want" json:"want" jsonschema:"The action; or error, if the text cannot be judged, so that on_error decides in a run."`
	Rule  string `yaml:"rule" json:"rule,omitempty" jsonschema:"The rule that asks for it."`
	After string `yaml:"after" json:"after,omitempty" jsonschema:"The text as it passes. For a call without a text beside it: args as JSON."`

	// At is where the test stands: file, line and column.
	At string `yaml:"-" json:"-"`
}

// WantError is what a test wants of a text that cannot be judged, such as one for which a condition
// cannot be computed, or one about which a judge's answer is none. In a run on_error of the policy, or
// of the judge, decides about it.
const WantError = "error"
