package guardrail

import (
	"regexp"

	"github.com/plughook/plughook/session"
)

// labels goes through the words that an event has for programs. Names of agents and models are the application's, but for
// those in an input.
func (w *walker) labels(e *session.Event, stage Stage) {
	w.label(stage, &e.ErrorCode)
	w.label(stage, (*string)(&e.FinishReason))
	if e.Author != session.User {
		return
	}
	for _, name := range []*string{&e.ModelVersion, &e.Actions.TransferToAgent} {
		w.one(&item{stage: stage, label: true}, jsonLeaf{}, name)
	}
	if u := e.UsageMetadata; u != nil && w.opaque(u, &item{stage: stage, label: true}) && w.write {
		e.UsageMetadata = nil
	}
}

// label is text for a word that programs have for something, such as a file's type, if it is none of the usual ones. Only
// detectors are asked about it: a rule about texts as wholes is not about "STOP".
func (w *walker) label(stage Stage, word *string) {
	if !usualLabel.MatchString(*word) {
		w.one(&item{stage: stage, label: true}, jsonLeaf{}, word)
	}
}

// usualLabel matches roles, constants, and the types of files that there are most.
var usualLabel = regexp.MustCompile(`^(user|model|system|function|tool|[A-Z_]{1,40}|text/(plain|html|css|csv|markdown|xml|javascript)|` +
	`image/(png|jpeg|jpg|gif|webp|heic|heif|bmp|tiff|avif|svg\+xml)|audio/(pcm|wav|mpeg|mp3|mp4|ogg|aac|flac|webm|aiff|l16)(;rate=[0-9]{4,6})?|` +
	`video/(mp4|mpeg|webm|quicktime|x-msvideo|3gpp|x-flv|wmv)|application/(json|pdf|zip|gzip|xml|yaml|octet-stream|rtf))?$`)
