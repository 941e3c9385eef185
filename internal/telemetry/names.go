package telemetry

// The names of OpenTelemetry's conventions for generative AI, version 1.41. They are "development", and later
// versions of the Go package semconv do not have them any more.
const (
	operationName  = "gen_ai.operation.name"
	providerName   = "gen_ai.provider.name"
	agentName      = "gen_ai.agent.name"
	conversationID = "gen_ai.conversation.id" // the session's
	requestModel   = "gen_ai.request.model"
	responseModel  = "gen_ai.response.model"
	finishReasons  = "gen_ai.response.finish_reasons"
	inputTokens    = "gen_ai.usage.input_tokens"
	outputTokens   = "gen_ai.usage.output_tokens"
	cachedTokens   = "gen_ai.usage.cache_read.input_tokens"
	tokenType      = "gen_ai.token.type"
	toolName       = "gen_ai.tool.name"
	toolCallID     = "gen_ai.tool.call.id"
	errorType      = "error.type"

	// Content: only on request.
	toolArguments  = "gen_ai.tool.call.arguments"
	toolResult     = "gen_ai.tool.call.result"
	inputMessages  = "gen_ai.input.messages"
	outputMessages = "gen_ai.output.messages"

	// CaptureContent is the environment variable that asks for content: "true" does.
	CaptureContent = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
)

// The values of gen_ai.operation.name. Each is the first word of a span's name, too.
const (
	invokeAgent = "invoke_agent"
	chat        = "chat"
	executeTool = "execute_tool"
	invokeNode  = "invoke_node" // the conventions have none for the node of a workflow
)

// Our own names.
const (
	runSpan  = "plughook.run"
	hookSpan = "plughook.hook"

	appName      = "plughook.app"
	invocationID = "plughook.invocation.id"
	runEnd       = "plughook.end" // how a run ended: done, stopped, failed, cancelled, left
	pluginName   = "plughook.plugin"
	hookName     = "plughook.hook"
	decision     = "plughook.decision" // what a hook asked for, such as "withheld,emitted"; none is ""
	eventID      = "plughook.event.id"
	reason       = "plughook.reason" // content
	nodePath     = "plughook.node.path"
)

// The metrics. Histograms of times are in seconds.
const (
	ChatDuration   = "gen_ai.client.operation.duration"
	TokenUsage     = "gen_ai.client.token.usage"
	AgentDuration  = "gen_ai.invoke_agent.duration"
	ToolDuration   = "gen_ai.execute_tool.duration"
	Invocations    = "plughook.invocations"
	HookDuration   = "plughook.hook.duration"
	LeaseWait      = "plughook.turn.wait"
	AppendDuration = "plughook.append.duration"
)
