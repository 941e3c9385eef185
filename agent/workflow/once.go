package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// argsOf returns an input as the arguments of a call.
func argsOf(input any) map[string]any {
	switch v := input.(type) {
	case nil:
		return nil
	case map[string]any:
		return v
	case *genai.Content:
		return map[string]any{"input": (&session.Event{Content: v}).Text()}
	}
	return map[string]any{"input": input}
}

// An effect is what a call has come to.
type effect struct {
	output   any
	response map[string]any // what the call is answered with, nil for {"result": output}
	actions  session.Actions
	later    bool      // the response comes later; response is an interim one, nil if there is none
	ask      *tool.Ask // a human is to be asked
}

// once runs what must not be run twice: the log has the call before it begins, and its response with
// the end of the run. do gets the call as plugins have left it.
func (t *task) once(ctx context.Context, name string, args map[string]any,
	do func(context.Context, *session.Call) (effect, error)) result {
	// Which call is it? One that was made after the last failure is this attempt's.
	made := slices.DeleteFunc(t.invocation.callsOf(t.path), func(c session.Call) bool { return c.Name == session.AskTool })
	_, _, last := t.invocation.failures(t.path)
	var c *session.Call
	for i := range made {
		if cutOff(&made[i], t.invocation.began) {
			if res, ok := t.resolve(&made[i]); ok {
				return res
			}
			continue // it is to be made again
		}
		if last == nil || made[i].Event.Seq > last.Seq {
			c = &made[i]
		}
	}
	if c == nil {
		id := fmt.Sprintf("%s#call", t.path)
		if len(made) > 0 {
			id = fmt.Sprintf("%s#%d", id, len(made)+1)
		}
		if !t.put(t.callEvent(id, name, args)) {
			return result{outcome: stopped}
		}
		if c = t.invocation.callOf(id); c == nil {
			return t.withheld("the call")
		}
	}
	switch {
	case c.Response != nil && c.Result.Response["error"] != nil:
		// a plugin has denied it, or what it has started has failed
		return t.failedForGood(NodeFailed, fmt.Errorf("the call was answered with an error: %s", inJSON(c.Result.Response["error"])))
	case c.Response != nil:
		return t.finish(ending{output: unwrapped(c.Result.Response)})
	case c.Decision != nil && !c.Approved():
		res := t.failedForGood(NodeFailed, errors.New("a human has said no to the call"))
		res.response = respond(c, map[string]any{"error": "declined: a human has said no to this call", "declined": true})
		return res
	case c.Waits():
		return result{outcome: waits}
	}

	// It runs now.
	out, err := do(ctx, c)
	if errors.Is(err, agent.ErrEnded) {
		return result{outcome: stopped}
	}
	if err == nil && out.later {
		_, err = plain(out.response)
	}
	if err == nil && (out.ask != nil || out.later) {
		e := t.event()
		if out.later {
			e.LongRunningToolIDs = []string{c.ID}
			if out.response != nil {
				e.Content = respond(c, out.response)
			}
		} else {
			e.Actions.Confirm(c.ID, session.Confirmation{Hint: out.ask.Hint, Payload: out.ask.Payload, Ask: out.ask.By})
		}
		if t.put(e) && !t.invocation.callOf(c.ID).Waits() {
			return t.withheld("what says that the call waits")
		}
		return result{outcome: waits}
	}
	end := ending{output: out.output, actions: out.actions}
	if err == nil {
		err = t.checkTime(ctx)
	}
	if err == nil {
		_, err = t.ending(end)
	}
	if err != nil {
		res := t.failed(NodeFailed, err)
		res.response = respond(c, map[string]any{"error": err.Error()})
		return res
	}
	response := out.response
	if response == nil {
		value, _ := plain(out.output) // ending has found that it can be written
		response = map[string]any{"result": value}
	}
	end.content = respond(c, response)
	return t.finish(end)
}

// cutOff reports whether nobody knows what became of a call: the process ended before it was answered,
// which the runner says in an answer of its own unless a plugin has withheld that.
func cutOff(c *session.Call, began int64) bool {
	if c.Response != nil {
		return interrupted(c)
	}
	decided := c.Decision != nil && c.Decision.Seq > began
	return c.Event.Seq <= began && !c.Waits() && !decided
}

// resolve asks a person what became of a call that was cut off. It reports whether that ends the attempt;
// otherwise the call is to be made again.
func (t *task) resolve(c *session.Call) (result, bool) {
	var output any
	again := false
	what := c.Name
	if len(c.Args) > 0 {
		what += " " + inJSON(c.Args)
	}
	message := fmt.Sprintf("The call %s was cut off, and may or may not have had its effects: %s. "+
		`Answer "again" to make it again, or what it has returned, in JSON.`, c.ID, what)
	err := t.ask(c.ID+"#cut-off", message, map[string]any{"type": "string"}, func(value any) (err error) {
		if object, ok := value.(map[string]any); ok {
			value = answers(object)[0]
		}
		text, ok := value.(string)
		again = ok && text == "again"
		if ok && !again {
			value, err = session.DecodeValue([]byte(text))
		}
		if err != nil {
			return errors.New(`it is neither "again" nor JSON`)
		}
		output = unwrapped(value)
		return nil
	})
	switch {
	case err == nil && again:
		return result{}, false
	case err == nil:
		return t.finish(ending{output: output}), true
	case errors.Is(err, ErrWaits):
		return result{outcome: waits}, true
	case errors.Is(err, errWithheld):
		return t.withheld("the question what became of the call " + c.ID), true
	}
	return result{outcome: stopped}, true
}

// respond returns a content with the response to a call.
func respond(c *session.Call, response map[string]any) *genai.Content {
	return session.Respond(c.FunctionCall, response).Content
}

// unwrapped returns what a response says: v of {"result": v}, or the whole.
func unwrapped(response any) any {
	object, _ := response.(map[string]any)
	if v, ok := object["result"]; ok && len(object) == 1 {
		return v
	}
	return response
}
