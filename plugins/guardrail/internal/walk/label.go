package walk

import (
	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

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
var usualLabel = lazyregexp.New(`^(user|model|system|function|tool|[A-Z_]{1,40}|text/(plain|html|css|csv|markdown|xml|javascript)|` +
	`image/(png|jpeg|jpg|gif|webp|heic|heif|bmp|tiff|avif|svg\+xml)|audio/(pcm|wav|mpeg|mp3|mp4|ogg|aac|flac|webm|aiff|l16)(;rate=[0-9]{4,6})?|` +
	`video/(mp4|mpeg|webm|quicktime|x-msvideo|3gpp|x-flv|wmv)|application/(json|pdf|zip|gzip|xml|yaml|octet-stream|rtf))?$`)
