package settings

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/plughook/plughook/hooks/dialect"
)

// A settings file is edited as a tree that keeps its spaces and comments. Entries stand at
// hooks.EVENT[i], or as a handler at hooks.EVENT[i].hooks[j].

func name(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// find returns the member of an object, nil if there is none.
func find(v *hujson.Value, key string) *hujson.Value {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	for i := range o.Members {
		if name(o.Members[i]) == key {
			return &o.Members[i].Value
		}
	}
	return nil
}

func objectAt(v *hujson.Value, key string) []hujson.ObjectMember {
	if v = find(v, key); v == nil {
		return nil
	}
	if o, ok := v.Value.(*hujson.Object); ok {
		return o.Members
	}
	return nil
}

// commandsIn returns the commands in an event's list of entries.
func commandsIn(v *hujson.Value) (commands []string) {
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil
	}
	for i := range list.Elements {
		entry := &list.Elements[i]
		if handlers := find(entry, "hooks"); handlers != nil {
			commands = append(commands, commandsIn(handlers)...)
		} else if command := commandOf(entry); command != "" {
			commands = append(commands, command)
		}
	}
	return commands
}

func commandOf(entry *hujson.Value) string {
	for _, key := range []string{"command", "bash"} {
		if v := find(entry, key); v != nil && v.Value.Kind() == '"' {
			return v.Value.(hujson.Literal).String()
		}
	}
	return ""
}

func commandsAt(root *hujson.Value, event string) []string {
	for _, member := range objectAt(root, "hooks") {
		if name(member) == event {
			return commandsIn(&member.Value)
		}
	}
	return nil
}

// takeOut removes our entries, and what they leave empty. It reports whether there were any.
func takeOut(root *hujson.Value, agent string) (any bool) {
	hooks := find(root, "hooks")
	if hooks == nil {
		return false
	}
	events := hooks.Value.(*hujson.Object)
	removeMembers(events, func(m *hujson.ObjectMember) bool {
		list, ok := m.Value.Value.(*hujson.Array)
		if !ok {
			return false
		}
		had := len(list.Elements)
		removeElements(list, func(entry *hujson.Value) bool {
			handlers := find(entry, "hooks")
			if handlers == nil {
				return Ours(agent, commandOf(entry))
			}
			inner, ok := handlers.Value.(*hujson.Array)
			if !ok {
				return false
			}
			count := len(inner.Elements)
			removeElements(inner, func(handler *hujson.Value) bool { return Ours(agent, commandOf(handler)) })
			any = any || len(inner.Elements) < count
			return len(inner.Elements) == 0 && count > 0
		})
		any = any || len(list.Elements) < had
		return len(list.Elements) == 0 && had > 0
	})
	if top := root.Value.(*hujson.Object); any && len(events.Members) == 0 {
		removeMembers(top, func(m *hujson.ObjectMember) bool { return name(*m) == "hooks" })
	}
	return any
}

// rest returns what is left of a file without our entries: nil if nothing is but what we would have put there.
func rest(root *hujson.Value, had bool, in *dialect.Installation, before []byte) []byte {
	if !had {
		return before
	}
	for _, member := range root.Value.(*hujson.Object).Members {
		if _, ours := in.File[name(member)]; !ours {
			return root.Pack()
		}
	}
	if bytes.Contains(root.Pack(), []byte("//")) || bytes.Contains(root.Pack(), []byte("/*")) {
		return root.Pack()
	}
	return nil
}

// put adds an entry to an event.
func put(root *hujson.Value, event string, entry json.RawMessage, command string) {
	quoted, _ := json.Marshal(command) // a string always can be
	text := bytes.ReplaceAll(entry, []byte(`"$command"`), unescaped(quoted))
	hooks := member(root, "hooks", "{}", 1)
	list := member(hooks, event, "[]", 2)
	array, ok := list.Value.(*hujson.Array)
	if !ok {
		return
	}
	element := value(text, 3)
	if n := len(array.Elements); n == 0 {
		array.AfterExtra = newline(2)
	} else {
		element.BeforeExtra, array.AfterExtra = behind(array.AfterExtra, 3)
		if array.Elements[n-1].AfterExtra != nil {
			element.AfterExtra = hujson.Extra{} // the list ends in a comma
		}
	}
	array.Elements = append(array.Elements, element)
}

// unescaped undoes what encoding/json escapes for HTML.
func unescaped(quoted []byte) []byte {
	return []byte(strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(string(quoted)))
}

// member returns the member of an object, and adds it if it is not there.
func member(v *hujson.Value, key, empty string, depth int) *hujson.Value {
	if found := find(v, key); found != nil {
		return found
	}
	o := v.Value.(*hujson.Object)
	added := hujson.ObjectMember{Name: hujson.Value{BeforeExtra: newline(depth), Value: hujson.String(key)}}
	added.Value, _ = hujson.Parse([]byte(" " + empty)) // it is one of two constants
	if n := len(o.Members); n == 0 {
		o.AfterExtra = newline(depth - 1)
	} else {
		added.Name.BeforeExtra, o.AfterExtra = behind(o.AfterExtra, depth)
		if o.Members[n-1].Value.AfterExtra != nil {
			added.Value.AfterExtra = hujson.Extra{} // the list ends in a comma
		}
	}
	o.Members = append(o.Members, added)
	return &o.Members[len(o.Members)-1].Value
}

// behind divides what stands before a closing bracket: a comment on the last element's line stays on that line.
func behind(extra hujson.Extra, depth int) (before, after hujson.Extra) {
	end := max(bytes.LastIndexByte(extra, '\n'), 0)
	return append(bytes.Clone(extra[:end]), newline(depth)...), extra[end:]
}

// comment returns what behind has put before an element that is removed now.
func comment(before hujson.Extra) hujson.Extra {
	return before[:max(bytes.LastIndexByte(before, '\n'), 0)]
}

func newline(depth int) hujson.Extra { return hujson.Extra("\n" + strings.Repeat("  ", depth)) }

// value parses an entry, indented as it stands.
func value(text []byte, depth int) hujson.Value {
	var out bytes.Buffer
	_ = json.Indent(&out, text, strings.Repeat("  ", depth), "  ") // our own data is JSON
	v, _ := hujson.Parse(out.Bytes())
	v.BeforeExtra = newline(depth)
	return v
}

func removeElements(list *hujson.Array, remove func(*hujson.Value) bool) {
	kept := list.Elements[:0:0]
	var left hujson.Extra
	for _, element := range list.Elements {
		if remove(&element) {
			left = append(left, comment(element.BeforeExtra)...)
			continue
		}
		element.BeforeExtra = append(left, element.BeforeExtra...)
		left = nil
		kept = append(kept, element)
	}
	if n := len(kept); n > 0 && list.Elements[len(list.Elements)-1].AfterExtra != nil && kept[n-1].AfterExtra == nil {
		kept[n-1].AfterExtra = hujson.Extra{} // the list ends in a comma
	}
	list.Elements = kept
	list.AfterExtra = append(left, list.AfterExtra...)
}

func removeMembers(o *hujson.Object, remove func(*hujson.ObjectMember) bool) {
	kept := o.Members[:0:0]
	var left hujson.Extra
	for _, m := range o.Members {
		if remove(&m) {
			left = append(left, comment(m.Name.BeforeExtra)...)
			continue
		}
		m.Name.BeforeExtra = append(left, m.Name.BeforeExtra...)
		left = nil
		kept = append(kept, m)
	}
	if n := len(kept); n > 0 && o.Members[len(o.Members)-1].Value.AfterExtra != nil && kept[n-1].Value.AfterExtra == nil {
		kept[n-1].Value.AfterExtra = hujson.Extra{}
	}
	o.Members = kept
	o.AfterExtra = append(left, o.AfterExtra...)
}
