// Package file describes files and links to them, as conditions of a policy ask about them.
package file

import (
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// A File is a file of an event, or a link to one.
type File struct {
	// Type is the MIME type, without parameters: of a file what its content says, of a link what is said of
	// it. Said is what is said of a file.
	Type string `expr:"type" yaml:"type" json:"type,omitempty" jsonschema:"The MIME type that the content has."`
	Said string `expr:"said" yaml:"said" json:"said,omitempty" jsonschema:"The MIME type that is said."`
	// Name is the file's name, or the address of a link.
	Name string `expr:"name" yaml:"name" json:"name,omitempty" jsonschema:"The name, or the address of a link."`
	// Size is in bytes, 0 of a link.
	Size int `expr:"size" yaml:"size" json:"size,omitempty" jsonschema:"The size in bytes, 0 of a link."`
	// Link says that it is a link, whose content is not judged.
	Link bool `expr:"link" yaml:"link" json:"link,omitempty" jsonschema:"It is a link."`
}

// Of describes a file with a name, a MIME type that is said of it, and content.
func Of(name, said string, data []byte) File {
	kind, _, _ := strings.Cut(mimetype.Detect(data).String(), ";")
	return File{Type: kind, Said: base(said), Name: name, Size: len(data)}
}

// LinkTo describes a link to a file, of which nothing is known but what is said.
func LinkTo(address, said string) File {
	return File{Type: base(said), Said: base(said), Name: address, Link: true}
}

// base returns a MIME type without its parameters, in small letters.
func base(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
