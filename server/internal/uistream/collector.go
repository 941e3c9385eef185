package uistream

// A collector makes a message of the chunks of whole events, as a client does.
type collector struct {
	id    string
	parts []frame
	tools map[any]frame // the parts of calls, also of earlier messages, by the calls' ids
}

// add takes in a chunk.
func (m *collector) add(f frame) {
	switch f["type"] {
	case "start-step":
		m.parts = append(m.parts, frame{"type": "step-start"})
	case "text-delta":
		m.parts = append(m.parts, frame{"type": "text", "text": f["delta"], "state": "done"})
	case "reasoning-delta":
		m.parts = append(m.parts, frame{"type": "reasoning", "text": f["delta"], "state": "done"})
	case "file":
		m.parts = append(m.parts, f)
	case "data-artifact", "data-approval":
		for _, p := range m.parts {
			if p["type"] == f["type"] && p["id"] == f["id"] {
				p["data"] = f["data"]
				return
			}
		}
		m.parts = append(m.parts, f)
	case "tool-input-available":
		p := m.tools[f["toolCallId"]]
		if p == nil {
			p = frame{"type": "tool-" + f["toolName"].(string), "toolCallId": f["toolCallId"]}
			m.parts = append(m.parts, p)
			m.tools[f["toolCallId"]] = p
		}
		p["state"] = "input-available"
		p["input"] = f["input"]
	case "tool-approval-request":
		if p := m.tools[f["toolCallId"]]; p != nil {
			p["state"] = "approval-requested"
			p["approval"] = frame{"id": f["approvalId"]}
		}
	case "tool-output-denied":
		if p := m.tools[f["toolCallId"]]; p != nil {
			p["state"] = "output-denied"
			p["approval"] = frame{"id": f["toolCallId"], "approved": false}
		}
	case "tool-output-error":
		if p := m.tools[f["toolCallId"]]; p != nil {
			p["state"] = "output-error"
			p["errorText"] = f["errorText"]
		}
	case "tool-output-available":
		if p := m.tools[f["toolCallId"]]; p != nil {
			p["state"] = "output-available"
			p["output"] = f["output"]
			delete(p, "preliminary")
			if f["preliminary"] == true {
				p["preliminary"] = true
			}
		}
	}
}
