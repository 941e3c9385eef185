package guardrail

import "time"

// form is a policy file. Its tags are the file's keys and their documentation.
type form struct {
	Version      int        `yaml:"version" json:"version,omitempty" jsonschema:"the version of this form: 1"`
	Mode         string     `yaml:"mode" json:"mode,omitempty" jsonschema:"enforce (the default), or shadow: nothing is changed, and the record says what would be"`
	OnError      string     `yaml:"on_error" json:"on_error,omitempty" jsonschema:"what becomes of a text that could not be judged: block (the default), or allow, which marks it as not checked"`
	Limits       formLimits `yaml:"limits" json:"limits,omitzero" jsonschema:"how much is judged"`
	TenantKey    string     `yaml:"tenant_key" json:"tenant_key,omitempty" jsonschema:"the key in the session's state that has the tenant, such as user:tenant"`
	TrustedTools []string   `yaml:"trusted_tools" json:"trusted_tools,omitempty" jsonschema:"tools, as globs, whose answers can be trusted; those of others taint the session"`
	Rules        []formRule `yaml:"rules" json:"rules,omitempty" jsonschema:"the rules; their order says nothing"`
	Tests        []formTest `yaml:"tests" json:"tests,omitempty" jsonschema:"what the policy is to make of some texts"`
}

type formLimits struct {
	MaxBytes  int    `yaml:"max_bytes" json:"max_bytes,omitempty" jsonschema:"the longest text that is judged, in bytes; 1048576 if it is not set"`
	OverLimit string `yaml:"over_limit" json:"over_limit,omitempty" jsonschema:"what becomes of a longer one: block (the default), or flag, which lets it pass unjudged"`
}

type formRule struct {
	ID      string     `yaml:"id" json:"id" jsonschema:"the rule's name, which records and refusals have"`
	Stages  []string   `yaml:"stages" json:"stages,omitempty" jsonschema:"input, prompt, output, tool_args, tool_result, summary; all but prompt if it is not set, and tool_args with tools"`
	Scope   formScope  `yaml:"scope" json:"scope,omitzero" jsonschema:"whom it is about; everybody if it is not set"`
	Detect  formDetect `yaml:"detect" json:"detect,omitzero" jsonschema:"what it looks for; it is about every text if it is not set"`
	When    string     `yaml:"when" json:"when,omitempty" jsonschema:"a condition, in the language of expr-lang.org: of stage, app, user, tenant, agent, branch, tool.name, tool.args, text, state, taint, tainted"`
	Tools   formTools  `yaml:"tools" json:"tools,omitzero" jsonschema:"which tools may be called; it stands in place of detect and action"`
	Judge   formJudge  `yaml:"judge" json:"judge,omitzero" jsonschema:"somebody else who is asked about the text; it stands in place of detect"`
	Limit   any        `yaml:"limit" json:"-"` // the plugin budget has it now: read so that its error says so
	Action  any        `yaml:"action" json:"action,omitempty" jsonschema:"allow, flag, mask, vault, hash, replace, redact, ask or block; or one for each type that is found, * for the others"`
	With    string     `yaml:"with" json:"with,omitempty" jsonschema:"what replace puts in the place of what was found"`
	Message string     `yaml:"message" json:"message,omitempty" jsonschema:"what the caller is told, or the model, or the human who is asked"`
	Mode    string     `yaml:"mode" json:"mode,omitempty" jsonschema:"shadow, or enforce: the policy's if it is not set"`
	Window  string     `yaml:"window" json:"window,omitempty" jsonschema:"part (the default) looks at each text alone; turn and session look at it as the end of what was there before it at the same stage"`
	Trust   string     `yaml:"trust" json:"trust,omitempty" jsonschema:"any (the default), or untrusted: answers of tools that are not trusted, and what is said and called once the session has one"`
}

type formScope struct {
	App    any `yaml:"app" json:"app,omitempty" jsonschema:"a glob, or a list of them; one that begins with ! excludes"`
	User   any `yaml:"user" json:"user,omitempty" jsonschema:"as app"`
	Tenant any `yaml:"tenant" json:"tenant,omitempty" jsonschema:"as app"`
	Agent  any `yaml:"agent" json:"agent,omitempty" jsonschema:"as app"`
	Branch any `yaml:"branch" json:"branch,omitempty" jsonschema:"as app"`
	Tool   any `yaml:"tool" json:"tool,omitempty" jsonschema:"as app"`
}

type formDetect struct {
	Secrets   string     `yaml:"secrets" json:"secrets,omitempty" jsonschema:"default: tokens, keys and passwords"`
	Injection string     `yaml:"injection" json:"injection,omitempty" jsonschema:"default: words that are to turn a model against its instructions, of type PROMPT_INJECTION; a hint, fit to flag and not to block"`
	PII       any        `yaml:"pii" json:"pii,omitempty" jsonschema:"default, or a list of types such as EMAIL_ADDRESS: personal data"`
	Words     any        `yaml:"words" json:"words,omitempty" jsonschema:"a list of words and phrases, of type WORD, or a list for each type"`
	Regexp    any        `yaml:"regexp" json:"regexp,omitempty" jsonschema:"a regular expression of Go's, of type REGEXP, or one for each type; it sees lines, one at a time"`
	URLs      formURLs   `yaml:"urls" json:"urls,omitzero" jsonschema:"links that are not allowed, of type URL"`
	Length    formLength `yaml:"length" json:"length,omitzero" jsonschema:"how long a text may be"`
}

type formURLs struct {
	Allow   []string `yaml:"allow" json:"allow,omitempty" jsonschema:"what is allowed: hosts such as corp.example or *.corp.example, with a scheme, a port and a path as one likes; nothing if it is empty"`
	Schemes []string `yaml:"schemes" json:"schemes,omitempty" jsonschema:"the schemes that entries without one allow; https and http if it is not set"`
}

// formJudge is who is asked: a service, or a model.
type formJudge struct {
	URL       string        `yaml:"url" json:"url,omitempty" jsonschema:"a service that the texts are sent to: https, or http on this machine"`
	HeaderEnv string        `yaml:"header_env" json:"header_env,omitempty" jsonschema:"the environment variable with a header for the service, as in Authorization: Bearer TOKEN"`
	Model     string        `yaml:"model" json:"model,omitempty" jsonschema:"a model, in place of a service: the name of one of the configuration's models, or KIND:WHAT as in an agent"`
	Question  string        `yaml:"question" json:"question,omitempty" jsonschema:"what the model is asked about a text; yes flags it"`
	Timeout   time.Duration `yaml:"timeout" json:"timeout" jsonschema:"how long an event may wait for the verdict on a text, such as 3s"`
	OnError   string        `yaml:"on_error" json:"on_error" jsonschema:"what becomes of a text on which there is no verdict: block, or allow, which marks it as not checked"`
	// Parallel let a run begin before the verdict. It is read so that its error says what to write.
	Parallel any `yaml:"parallel" json:"-"`
}

// formTools are lists of tools, as globs, and of commands that a tool runs: shell(git push*).
type formTools struct {
	Deny  []string `yaml:"deny" json:"deny,omitempty" jsonschema:"tools, as globs, and commands that a tool is given to run, as in shell(rm *): calls that are answered with an error"`
	Ask   []string `yaml:"ask" json:"ask,omitempty" jsonschema:"calls that a human is asked about; so is a command line that cannot be resolved"`
	Allow []string `yaml:"allow" json:"allow,omitempty" jsonschema:"calls that pass, if neither deny nor ask names them"`
	Other string   `yaml:"other" json:"other,omitempty" jsonschema:"what becomes of calls that no list names: allow (the default), ask or block"`
}

type formLength struct {
	Bytes  int `yaml:"bytes" json:"bytes,omitempty" jsonschema:"its bytes, in UTF-8"`
	Tokens int `yaml:"tokens" json:"tokens,omitempty" jsonschema:"its tokens, taken as a quarter of its bytes"`
}

// A Test says what a policy is to make of a text.
type Test struct {
	Name   string `yaml:"name" json:"name" jsonschema:"what it is about"`
	Stage  string `yaml:"stage" json:"stage" jsonschema:"where the text is"`
	Text   string `yaml:"text" json:"text,omitempty" jsonschema:"the text"`
	App    string `yaml:"app" json:"app,omitempty" jsonschema:"whose text it is"`
	User   string `yaml:"user" json:"user,omitempty" jsonschema:"as app"`
	Agent  string `yaml:"agent" json:"agent,omitempty" jsonschema:"as app"`
	Branch string `yaml:"branch" json:"branch,omitempty" jsonschema:"the agent's branch"`
	Tool   string `yaml:"tool" json:"tool,omitempty" jsonschema:"the tool that is called, or answers"`

	Args  map[string]any  `yaml:"args" json:"args,omitempty" jsonschema:"what the tool is called with; at tool_args each text of it is judged, as in a run"`
	State map[string]any  `yaml:"state" json:"state,omitempty" jsonschema:"the session's state"`
	Judge map[string]bool `yaml:"judge" json:"judge,omitempty" jsonschema:"rules whose judge is taken to flag the text, with true; no judge is asked in a test"`
	Taint []string        `yaml:"taint" json:"taint,omitempty" jsonschema:"tools whose answers the session has"`

	Want  string `yaml:"want" json:"want" jsonschema:"the action"`
	Rule  string `yaml:"rule" json:"rule,omitempty" jsonschema:"the rule that asks it"`
	After string `yaml:"after" json:"after,omitempty" jsonschema:"the text as it is to become; of a call without a text beside it, args as JSON"`
}

// formTest is a test as a file has it.
type formTest struct {
	Test `yaml:",inline"`
	Used any `yaml:"used" json:"-"` // of a limit: the plugin budget has it now
}
