package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/tool"
)

// ErrSettings says that a plugin refuses its settings.
var ErrSettings = errors.New("remote: the plugin does not take its settings")

// checkSettings returns an ErrSettings that names the path of each bad value if settings do not fit a JSON
// Schema. No schema takes no settings.
func CheckSettings(schema []byte, settings json.RawMessage) error {
	values := map[string]any{}
	if len(bytes.TrimSpace(settings)) > 0 {
		d := json.NewDecoder(bytes.NewReader(settings))
		d.UseNumber()
		if err := d.Decode(&values); err != nil || values == nil || d.More() {
			return fmt.Errorf("%w: they are no JSON object", ErrSettings)
		}
	}
	if len(schema) == 0 {
		for name := range values {
			return fmt.Errorf("%w: /%s: it takes none", ErrSettings, name)
		}
		return nil
	}
	t := &tool.Tool{Declaration: &genai.FunctionDeclaration{Name: "settings", ParametersJsonSchema: json.RawMessage(schema)}}
	fits, err := t.Check()
	if err != nil {
		return fmt.Errorf("its schema of settings: %s", strings.TrimPrefix(err.Error(), "tool settings: parameters: "))
	}
	if err := fits(values); err != nil {
		return fmt.Errorf("%w: %s", ErrSettings, strings.TrimPrefix(err.Error(), "the arguments do not fit: "))
	}
	return nil
}
