package walk

import (
	"regexp"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// labels goes through the words for programs in an event. Names of agents, nodes and models are the
// application's, but for those in an input, which the caller has written.
func (w *Walker) labels(e *session.Event, stage policy.Stage) {
	w.label(stage, &e.ErrorCode)
	w.label(stage, (*string)(&e.FinishReason))
	if e.Author != session.User {
		return
	}
	for _, name := range []*string{&e.ModelVersion, &e.Actions.TransferToAgent} {
		w.leaf(&Item{Stage: stage, Label: true}, jsonvalue.Leaf{}, name)
	}
	if n := e.NodeInfo; n != nil {
		w.leaf(&Item{Stage: stage, Label: true}, jsonvalue.Leaf{}, &n.Path)
		w.leaf(&Item{Stage: stage, Label: true}, jsonvalue.Leaf{}, &n.OutputOf)
		for i := range n.OutputFor {
			w.leaf(&Item{Stage: stage, Label: true}, jsonvalue.Leaf{}, &n.OutputFor[i])
		}
	}
	if e.UsageMetadata != nil {
		edited := w.opaque(e.UsageMetadata, &Item{Stage: stage, Label: true})
		if edited && w.Write {
			e.UsageMetadata = nil
		}
	}
}

// label goes through a word for programs, such as the type of a file, unless it is one of the usual
// ones. Only detectors look at it: a rule about whole texts is not about "STOP".
func (w *Walker) label(stage policy.Stage, word *string) {
	if !UsualLabel(*word) {
		w.leaf(&Item{Stage: stage, Label: true}, jsonvalue.Leaf{}, word)
	}
}

// UsualLabel reports whether a word for programs is one of the usual ones, which hides nothing.
func UsualLabel(word string) bool {
	return word == "" || word == "model" || word == "user" || usualLabel.MatchString(word)
}

// usualLabel matches roles, constants, and common types of files.
var usualLabel = regexp.MustCompile(`^(user|model|system|function|tool|[A-Z_]{1,40}|text/(plain|html|css|csv|markdown|xml|javascript)|` +
	`image/(png|jpeg|jpg|gif|webp|heic|heif|bmp|tiff|avif|svg\+xml)|audio/(pcm|wav|mpeg|mp3|mp4|ogg|aac|flac|webm|aiff|l16)(;rate=[0-9]{4,6})?|` +
	`video/(mp4|mpeg|webm|quicktime|x-msvideo|3gpp|x-flv|wmv)|application/(json|pdf|zip|gzip|xml|yaml|octet-stream|rtf))?$`)
