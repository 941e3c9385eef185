package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/genaischema"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// ErrWaits says that a question has no answer yet. A function that gets it returns it, alone, wrapped
// or joined with others.
var ErrWaits = errors.New("workflow: a question waits for its answer")

// ErrDeadline says that nobody has answered a question in time (Node.Deadline). A function that returns it has failed
// with NodeTimeout, without another attempt; one that goes on gets it again when it is called again.
var ErrDeadline = errors.New("workflow: nobody has answered in time")

// Ask asks a person, and returns the answer, a JSON value of type T. While there is none the error is
// ErrWaits; the function returns it, and is called again, from its beginning, when all questions of
// its run are answered: then Ask returns the answer. That may be days later, in another process.
//
// The question is a function call (session.AskTool) whose response is the answer. An answer that does
// not fit the schema of T is refused: the question is asked again, and says why. Each question of a run
// has a name of its own.
func Ask[T any](ctx context.Context, r *Run, name, message string) (answer T, err error) {
	if err := context.Cause(ctx); err != nil {
		return answer, err
	}
	schema, err := schemaOf(reflect.TypeFor[T]())
	if err != nil {
		return answer, fmt.Errorf("workflow: the question %q: %w", name, err)
	}
	var fits func(context.Context, any) error // nil if any value fits
	if schema != nil {
		fits, err = tool.Schema(schema)
		if err != nil {
			return answer, fmt.Errorf("workflow: the question %q: %w", name, err)
		}
	}
	to := reflect.ValueOf(&answer).Elem()
	err = r.ask(name, message, schema, func(value any) error {
		if value == nil && to.Kind() != reflect.Pointer && to.Kind() != reflect.Interface {
			return errors.New("it is empty")
		}
		to.SetZero()
		return convert(to, value, fits)
	})
	return answer, err
}

// AskSchema is Ask for an answer whose schema is a value: a *genai.Schema, or whatever else
// tool.Schema takes, such as a map. The answer is a JSON value that fits it. A schema that cannot be
// compiled is an error.
func AskSchema(ctx context.Context, r *Run, name, message string, schema any) (answer any, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if s, ok := schema.(*genai.Schema); ok {
		schema = genaischema.ToJSON(s)
	}
	fits, err := tool.Schema(schema)
	if err != nil {
		return nil, fmt.Errorf("workflow: the question %q: %w", name, err)
	}
	err = r.ask(name, message, schema, func(value any) error {
		err := fits(ctx, value)
		if err == nil {
			answer = value
		}
		return err
	})
	return answer, err
}

// ask puts a question, or lets read take its answer. The error is ErrWaits if there is no answer yet.
func (r *Run) ask(name, message string, schema any, read func(any) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == "" || strings.Contains(name, "#") {
		return fmt.Errorf("workflow: the name %q of a question must not be empty, and not contain '#'", name)
	}
	if r.task.node.Once {
		return errors.New("workflow: a node with Once cannot ask; ask in a node before it")
	}
	return r.task.ask(r.Path+"#"+name, message, schema, read)
}

// ask is Run.ask for a question whose call has the ID base. After an answer that read refuses, the question
// is asked again with another call, whose ID is base with a number behind it.
func (t *task) ask(base, message string, schema any, read func(any) error) error {
	id := base
	text := message
	deadline := ""
	if t.node.Deadline > 0 {
		deadline = t.host.Now().Now().Add(t.node.Deadline).UTC().Format(time.RFC3339Nano)
	}
	for n := 2; ; n++ {
		// Is the question in the log?
		c := t.invocation.callOf(id)
		if c == nil {
			e, err := t.question(id, text, schema, deadline)
			if err != nil {
				return err
			}
			if !t.put(e) {
				return agent.ErrEnded
			}
			c = t.invocation.callOf(id)
		}
		switch {
		case c == nil:
			return errWithheld
		case c.Response == nil:
			return ErrWaits
		}
		if until := deadlineOf(c); !until.IsZero() && !c.Response.Timestamp.Before(until) {
			if _, _, last := t.invocation.failures(t.path); last == nil || last.ErrorCode != NodeTimeout || last.Seq < c.Response.Seq {
				return fmt.Errorf("%w: the question %s could be answered until %s", ErrDeadline, id, until.Format(time.RFC3339))
			}
			id = fmt.Sprintf("%s#%d", base, n) // the run has failed for that, and somebody wants it to go on
			continue
		}

		// Does the answer fit? If not, the next question says why, and has the same deadline.
		deadline, _ = c.Args["deadline"].(string)
		why := errors.New("the question was interrupted")
		if !interrupted(c) {
			values := answers(c.Result.Response)
			for i, value := range values {
				err := read(value)
				if err == nil {
					return nil
				}
				if i == 0 || i < len(values)-1 { // the last is the object around the answer
					why = err
				}
			}
		}
		id = fmt.Sprintf("%s#%d", base, n)
		reason := strings.TrimPrefix(why.Error(), "the whole: ")
		text = fmt.Sprintf("%s\n(The answer before was refused: %s)", message, reason)
	}
}

// errWithheld says that a plugin has withheld a question.
var errWithheld = errors.New("workflow: a plugin has withheld the question")

// answers returns the values that a response may mean, the likeliest first: of {"result": v} it is v, then,
// if v is a text, the JSON value in it, and then the whole object.
func answers(response map[string]any) []any {
	var values []any
	for _, name := range []string{"result", "response", "payload"} {
		value, ok := response[name]
		if !ok || len(response) > 1 {
			continue
		}
		values = append(values, value)
		if text, ok := value.(string); ok {
			if parsed, err := session.DecodeValue([]byte(text)); err == nil {
				values = append(values, parsed)
			}
		}
	}
	return append(values, response)
}

// question returns the event that asks: a long-running call of session.AskTool.
func (t *task) question(id, message string, schema any, deadline string) (*session.Event, error) {
	args := map[string]any{"interruptId": id, "message": message}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	value, err := session.DecodeValue(data)
	if err != nil {
		return nil, err
	}
	if value != nil {
		args["response_schema"] = value
	}
	if deadline != "" {
		args["deadline"] = deadline
	}
	e := t.callEvent(id, session.AskTool, args)
	e.LongRunningToolIDs = []string{id}
	return e, nil
}

// deadlineOf returns until when a question can be answered, the zero time if that is for ever.
func deadlineOf(c *session.Call) time.Time {
	text, _ := c.Args["deadline"].(string)
	until, err := time.Parse(time.RFC3339Nano, text)
	if c.Name != session.AskTool || err != nil {
		return time.Time{}
	}
	return until
}

// closeLate answers the questions of a run, and of those within it, whose deadline has passed: so nobody is asked
// them any more. It reports whether the invocation goes on.
func (t *task) closeLate() bool {
	for _, c := range t.invocation.openCalls(t.path) {
		until := deadlineOf(&c)
		if until.IsZero() || t.host.Now().Now().Before(until) {
			continue
		}
		if !t.putError(&c, map[string]any{"error": "nobody has answered until " + until.Format(time.RFC3339)}) {
			return false
		}
	}
	return true
}

// Answer returns an input with the answer to a question, by the id of its call: a JSON value.
func Answer(id string, answer any) *session.Event {
	call := &genai.FunctionCall{ID: id, Name: session.AskTool}
	e := session.Respond(call, map[string]any{"result": answer})
	e.Author = session.User
	return e
}
