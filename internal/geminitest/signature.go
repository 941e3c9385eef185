package geminitest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// sign remembers the signatures of calls.
func (s *Server) sign(r Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, parts := range r.Chunks {
		for _, p := range parts {
			if signature, ok := p["thoughtSignature"].(string); ok && p["functionCall"] != nil {
				k := key(p)
				s.signed[k] = append(s.signed[k], signature)
			}
		}
	}
}

// unsigned says which signed call of the last turn has come back without its signature. It is called
// with the lock.
func (s *Server) unsigned(contents []Content) string {
	for i, c := range slices.Backward(contents) {
		if c.Role == "user" && len(fields(c, "functionResponse")) == 0 {
			break // the turn begins here
		}
		for j, p := range c.Parts {
			call, _ := p["functionCall"].(map[string]any)
			if call == nil {
				continue
			}
			given := s.signed[key(p)]
			signature, _ := p["thoughtSignature"].(string)
			if len(given) > 0 && !slices.Contains(given, signature) {
				return fmt.Sprintf("Function call is missing a thought_signature in functionCall parts, or has another one than it was given. Function call `%v`, contents[%d].parts[%d].", call["name"], i, j)
			}
		}
	}
	return ""
}

// key tells a call from others by name and arguments. Its id is left out, as clients may give one.
func key(p Part) string {
	data, err := json.Marshal(p["functionCall"])
	var call struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	}
	if err != nil || json.Unmarshal(data, &call) != nil {
		return ""
	}
	data, err = json.Marshal(call.Args) // sorted by key
	if err != nil {
		return ""
	}
	return call.Name + " " + string(data)
}
