package detecttest

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Row is a labelled text. Which fields are filled depends on the file.
type Row struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Rule     string `json:"rule"`
	Positive bool   `json:"positive"`
	Spans    []Span `json:"spans"`
}

// A Span is what a labelled text holds at its bytes Start to End.
type Span struct {
	Label      string `json:"label"`
	Start, End int
}

// Development returns the rows of a file of development data, such as guardrail/pii-dev.jsonl. The
// data are no part of the repository: they are looked for in $PLUGHOOK_DATA, then in
// ../shared/data beside it, and the test is skipped where they are not.
func Development(t testing.TB, name string) []Row {
	t.Helper()
	path := find(name)
	if path == "" {
		t.Skipf(
			"no development data: %s is neither in $PLUGHOOK_DATA nor in ../shared/data beside it",
			name)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	var rows []Row
	for lines.Scan() {
		var row Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s, row %d: %v", path, len(rows)+1, err)
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return rows
}

// Texts returns the texts of the rows.
func Texts(rows []Row) []string {
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.Text
	}
	return texts
}

// Sampled returns all texts, or one of 16 under the race detector.
func Sampled(texts []string) (some []string) {
	step := 1
	if race {
		step = 16
	}
	for i := 0; i < len(texts); i += step {
		some = append(some, texts[i])
	}
	return some
}

// find returns the path of a file of development data; "" if it is not there.
func find(name string) string {
	dirs := []string{os.Getenv("PLUGHOOK_DATA")}
	if dir, err := os.Getwd(); err == nil {
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				dirs = append(dirs, filepath.Join(filepath.Dir(dir), "shared", "data"))
				break
			}
		}
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
