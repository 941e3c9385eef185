package agui

import (
	"encoding/base64"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// messagesOf returns the messages that stand for a live view. A message has the same id as in the stream of
// its run.
func messagesOf(live []*session.Event) []frame {
	list := []frame{}
	for _, e := range live {
		switch {
		case e.Marker():
			list = append(list, activity(e, "", "id"))
			continue
		case e.Author == session.User:
			if content := userContent(e); content != nil {
				list = append(list, frame{"id": e.ID, "role": "user", "content": content})
			}
		default:
			if thought := thoughtOf(e); thought != "" {
				list = append(list, frame{"id": thoughtID(e.ID), "role": "reasoning", "content": thought})
			}
			if m := assistant(e); m != nil {
				list = append(list, m)
			}
		}
		for i, a := range e.FunctionResponses() {
			id := callID(e, i, a.ID)
			list = append(list, frame{
				"id":         resultID(e, id),
				"role":       "tool",
				"toolCallId": id,
				"content":    jsonText(a.Response),
			})
		}
	}
	return list
}

// assistant returns what an agent, or a plugin in its place, says and calls; nil if that is nothing.
func assistant(e *session.Event) frame {
	m := frame{"id": e.ID, "role": "assistant", "name": e.Author}
	text := web.TextOf(e)
	if text != "" {
		m["content"] = text
	}
	var calls []frame
	for i, c := range e.FunctionCalls() {
		function := frame{"name": c.Name, "arguments": jsonText(c.Args)}
		calls = append(calls, frame{"id": callID(e, i, c.ID), "type": "function", "function": function})
	}
	if len(calls) > 0 {
		m["toolCalls"] = calls
	}
	if text == "" && len(calls) == 0 {
		return nil
	}
	return m
}

// userContent returns what a user said: a text, or a list of texts and files; nil if that is nothing.
func userContent(e *session.Event) any {
	if e.Content == nil {
		return nil
	}
	var parts []frame
	files := false
	for _, p := range e.Content.Parts {
		switch {
		case p == nil:
		case p.Text != "":
			parts = append(parts, frame{"type": "text", "text": p.Text})
		case p.InlineData != nil:
			files = true
			value := base64.StdEncoding.EncodeToString(p.InlineData.Data)
			source := frame{"type": "data", "value": value, "mimeType": p.InlineData.MIMEType}
			parts = append(parts, frame{"type": kindOf(p.InlineData.MIMEType), "source": source})
		case p.FileData != nil:
			files = true
			source := frame{"type": "url", "value": p.FileData.FileURI, "mimeType": p.FileData.MIMEType}
			parts = append(parts, frame{"type": kindOf(p.FileData.MIMEType), "source": source})
		}
	}
	switch {
	case len(parts) == 0:
		return nil
	case files:
		return parts
	}
	return e.Text()
}

// kindOf returns the protocol's kind of a file.
func kindOf(mimeType string) string {
	switch kind, _, _ := strings.Cut(mimeType, "/"); kind {
	case "image", "audio", "video":
		return kind
	}
	return "document"
}

// activity returns the message, or the event of the stream, that stands for a compaction.
func activity(e *session.Event, event, id string) frame {
	content := frame{"through": e.Actions.Compaction.Through}
	if summary := e.Actions.Compaction.Content; summary != nil {
		content["summary"] = textOf(summary, false)
	}
	f := frame{id: e.ID, "activityType": "compaction", "content": content}
	if event == "" {
		f["role"] = "activity"
	} else {
		f["type"] = event
	}
	return f
}

// thoughtOf returns what an event's agent has thought.
func thoughtOf(e *session.Event) string {
	if e.Content == nil {
		return ""
	}
	return textOf(e.Content, true)
}

func textOf(c *genai.Content, thought bool) string {
	var text strings.Builder
	for _, p := range c.Parts {
		if p != nil && p.Thought == thought {
			text.WriteString(p.Text)
		}
	}
	return text.String()
}

func thoughtID(event string) string { return event + "/thought" }

func resultID(e *session.Event, call string) string { return e.ID + "/" + call }

// callID returns a call's ID; other kits' logs have calls without one.
func callID(e *session.Event, i int, id string) string {
	if id == "" {
		return e.ID + "/call-" + strconv.Itoa(i)
	}
	return id
}
