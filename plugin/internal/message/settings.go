package message

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/tool"
)

// ErrSettings says that a plugin refuses its settings.
var ErrSettings = errors.New("remote: the plugin does not take its settings")

// CheckSettings compares settings with a JSON Schema. If they do not fit, it returns an
// ErrSettings that has the path of each bad value. A plugin without a schema takes no settings. The
// schema is the plugin's, so it is bounded, and the comparison ends with the context; see
// tool.Schema.
func CheckSettings(ctx context.Context, schema []byte, settings json.RawMessage) error {
	values := map[string]any{}
	if len(bytes.TrimSpace(settings)) > 0 {
		d := json.NewDecoder(bytes.NewReader(settings))
		d.UseNumber()
		if err := d.Decode(&values); err != nil || values == nil || d.More() {
			return fmt.Errorf("%w: they are not a JSON object", ErrSettings)
		}
	}
	if len(schema) == 0 {
		for name := range values {
			return fmt.Errorf("%w: /%s: the plugin takes no settings", ErrSettings, name)
		}
		return nil
	}
	t := &tool.Tool{Declaration: &genai.FunctionDeclaration{Name: "settings", ParametersJsonSchema: json.RawMessage(schema)}}
	fits, err := t.Check()
	if err != nil {
		return fmt.Errorf("its schema of settings: %s", strings.TrimPrefix(err.Error(), "tool settings: parameters: "))
	}
	err = fits(ctx, values)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: %s", ErrSettings, strings.TrimPrefix(err.Error(), "the arguments do not fit: "))
	}
	return nil
}
