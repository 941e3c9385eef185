package artifact

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genai"
)

// about describes a version.
type about struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"` // "inline", "file" or "text"
	MIMEType    string `json:"mimeType,omitempty"`
	DisplayName string `json:"displayName,omitempty"`
	FileURI     string `json:"fileUri,omitempty"`
	Size        int    `json:"size"` // of the data
}

const (
	aboutFile = "about.json"
	dataFile  = "data"
	// unfinished begins the name of a directory that becomes a version when it is complete; deleted begins
	// that of a deleted artifact. Versions and artifacts have no such names.
	unfinished = "new-"
	deleted    = "~"
)

// put writes a version into a directory of its own, and renames that to the next number when it is complete.
// The renaming fails if the number is taken, since no version's directory is empty.
func put(ctx context.Context, a *os.Root, name string, p *genai.Part) (int64, error) {
	n, err := next(a)
	if err != nil {
		return 0, err
	}
	dir := unfinished + rand.Text()
	if err := a.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	defer a.RemoveAll(dir) // it has been renamed if all went well
	about, data := split(name, p)
	head, err := json.Marshal(about)
	if err == nil {
		err = write(a, dir+"/"+aboutFile, append(head, '\n'))
	}
	if err == nil {
		err = write(a, dir+"/"+dataFile, data)
	}
	if err == nil {
		err = syncDir(a, dir)
	}
	for ; err == nil; n++ {
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		number := strconv.FormatInt(n, 10)
		err = a.Rename(dir, number)
		if err == nil {
			return n, syncDir(a, ".")
		}
		_, statErr := a.Lstat(number)
		if statErr == nil {
			err = nil // another Save has taken the number
		}
	}
	return 0, err
}

// next returns the number of the next version, and removes unfinished directories that are older than a day.
func next(a *os.Root) (int64, error) {
	entries, err := fs.ReadDir(a.FS(), ".")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), unfinished) {
			continue
		}
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = a.RemoveAll(e.Name()) // if this fails, it does no harm
		}
	}
	all := numbers(entries)
	if len(all) == 0 {
		return 0, nil
	}
	return all[len(all)-1] + 1, nil
}

// versions returns the numbers of an artifact's versions, ascending.
func versions(a *os.Root) ([]int64, error) {
	entries, err := fs.ReadDir(a.FS(), ".")
	return numbers(entries), err
}

func numbers(entries []fs.DirEntry) []int64 {
	var list []int64
	for _, e := range entries {
		n, err := strconv.ParseInt(e.Name(), 10, 64)
		if err == nil && n >= 0 && strconv.FormatInt(n, 10) == e.Name() {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// get reads a version that exists.
func get(a *os.Root, name string, version int64) (*genai.Part, error) {
	dir := strconv.FormatInt(version, 10)
	head, err := readAbout(a, dir)
	var data []byte
	if err == nil {
		data, err = a.ReadFile(dir + "/" + dataFile)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && (head.Name != name || head.Size != len(data)):
		return nil, damaged(version)
	case err != nil:
		return nil, err
	}
	p := head.part(data)
	if p == nil {
		return nil, damaged(version)
	}
	return p, nil
}

// damaged returns the error of a version that exists and cannot be read. It is not fs.ErrNotExist.
func damaged(version int64) error {
	return fmt.Errorf("version %d is damaged: its %s and %s do not fit; restore its directory from a backup, or delete the artifact", version, aboutFile, dataFile)
}

func readAbout(a *os.Root, dir string) (head about, err error) {
	data, err := a.ReadFile(dir + "/" + aboutFile)
	if err == nil && json.Unmarshal(data, &head) != nil {
		err = fmt.Errorf("%s/%s is damaged: it is not JSON; restore it from a backup, or delete the artifact", dir, aboutFile)
	}
	return head, err
}

// split returns the description and the data of a part.
func split(name string, p *genai.Part) (about, []byte) {
	switch {
	case p.InlineData != nil:
		b := p.InlineData
		return about{
			Name:        name,
			Kind:        "inline",
			MIMEType:    b.MIMEType,
			DisplayName: b.DisplayName,
			Size:        len(b.Data),
		}, b.Data
	case p.FileData != nil:
		d := p.FileData
		return about{
			Name:        name,
			Kind:        "file",
			MIMEType:    d.MIMEType,
			DisplayName: d.DisplayName,
			FileURI:     d.FileURI,
		}, nil
	}
	return about{Name: name, Kind: "text", Size: len(p.Text)}, []byte(p.Text)
}

// part returns the part with a description and data, nil if the description is invalid.
func (h about) part(data []byte) *genai.Part {
	switch h.Kind {
	case "inline":
		return &genai.Part{InlineData: &genai.Blob{MIMEType: h.MIMEType, DisplayName: h.DisplayName, Data: data}}
	case "file":
		return &genai.Part{FileData: &genai.FileData{MIMEType: h.MIMEType, DisplayName: h.DisplayName, FileURI: h.FileURI}}
	case "text":
		return &genai.Part{Text: string(data)}
	}
	return nil
}

// write writes a file and waits until it is on the disk.
func write(a *os.Root, name string, data []byte) error {
	file, err := a.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// syncDir waits until the names in a directory are on the disk.
func syncDir(a *os.Root, dir string) error {
	if runtime.GOOS == "windows" { // there is no such call
		return nil
	}
	file, err := a.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
