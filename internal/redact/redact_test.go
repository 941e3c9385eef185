package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// values are secrets with everything that is escaped somewhere.
var values = []string{
	"hunter2hunter2",
	"p&ss<word>",
	`back\slash\\es`,
	`quote"d 'and' more`,
	"with space/and+plus=%25",
	"tab\tline\nreturn\rbell\a",
	"ünïcödé-ключ",
	"emoji 🔑🔐 keys",
	"not \xff\xfe utf8",
	`\u0026 is no &`,
	"[\"{}]?#$@!~`^|;:,.",
	"100%0 and %%%41",
}

func inJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// ascii returns JSON as other languages write it, in ASCII.
func ascii(s string) string {
	var out strings.Builder
	for _, r := range inJSON(s) {
		switch {
		case r < 0x80:
			out.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			fmt.Fprintf(&out, `\ud%03x\ud%03x`, 0x800+(r-0x10000)>>10, 0xc00+(r-0x10000)&0x3ff)
		}
	}
	return out.String()
}

// encodings are ways in which programs write a text.
var encodings = map[string]func(string) string{
	"as it is":      func(s string) string { return s },
	"JSON":          func(s string) string { return inJSON(s) },
	"JSON in JSON":  func(s string) string { return inJSON(inJSON(s)) },
	"three times":   func(s string) string { return inJSON(inJSON(inJSON(s))) },
	"ASCII JSON":    ascii,
	"ASCII in JSON": func(s string) string { return inJSON(ascii(s)) },
	"JSON without HTML": func(s string) string {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		_ = e.Encode(s)
		return out.String()
	},
	"JSON of PHP":   func(s string) string { return strings.ReplaceAll(ascii(s), "/", `\/`) },
	"%q":            func(s string) string { return fmt.Sprintf("%q", s) },
	"%+q":           func(s string) string { return fmt.Sprintf("%+q", s) },
	"%q of %q":      func(s string) string { return fmt.Sprintf("%q", fmt.Sprintf("%q", s)) },
	"%#v":           func(s string) string { return fmt.Sprintf("%#v", []string{s}) },
	"query":         url.QueryEscape,
	"path":          url.PathEscape,
	"query twice":   func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	"query in JSON": func(s string) string { return inJSON(url.QueryEscape(s)) },
	"lower query":   func(s string) string { return strings.ToLower(url.QueryEscape(s)) },
	"hex":           func(s string) string { return hex.EncodeToString([]byte(s)) },
	"upper hex":     func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"%x":            func(s string) string { return fmt.Sprintf("%#x", s) },
	"bytes":         func(s string) string { return strings.ReplaceAll(fmt.Sprintf("% x", s), " ", "") },
	"octal": func(s string) string {
		var out strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&out, `\%03o`, s[i])
		}
		return out.String()
	},
	`\x`: func(s string) string {
		var out strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&out, `\x%02X`, s[i])
		}
		return out.String()
	},
	`\u{}`: func(s string) string {
		var out strings.Builder
		for _, r := range s {
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
		return out.String()
	},
}

// Whatever has encoded a text, its secrets are not in it any more, and everything else is.
func TestSecretsAreFound(t *testing.T) {
	for _, value := range values {
		s := New([]Secret{{Value: value, Name: "$SECRET"}})
		for name, encode := range encodings {
			if name == "lower query" && strings.ToLower(value) != value {
				continue
			}
			if !strings.Contains(name, "x") && name != "as it is" && name != "octal" &&
				!strings.Contains(
					name,
					"q",
				) && !strings.Contains(name, "path") && strings.Contains(value, "\xff") {
				continue // this encoding loses it
			}
			encoded := encode(value)
			clean := s.Replace("before " + encoded + " after")
			require.Contains(t, clean, "$SECRET", "%s: %q as %s", name, value, encoded)
			require.LessOrEqual(t, len(clean),
				len("before $SECRET after")+2*len(`\\\\\\\"0x`)+len("[]string{}"),
				"%s: %q as %s is %s", name, value, encoded, clean)
			require.True(t, strings.HasPrefix(clean, "before "), clean)
			require.True(t, strings.HasSuffix(clean, " after"), clean)
		}
	}
}

// A secret is found in base64 of either alphabet, wherever in what is encoded it is, and no bit of
// it stays.
func TestSecretsInBase64(t *testing.T) {
	for _, value := range append(values, "??>>~~\xff\xfb\xff\xfb") {
		s := New([]Secret{{Value: value, Name: "$SECRET"}})
		for _, before := range []string{"", "u", "us", "use", "user:", "Bearer "} {
			for _, after := range []string{"", "x", "xy", "xyz"} {
				for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
					for _, wrap := range []func(string) string{
						func(s string) string { return "Basic " + s + " end" },
						func(s string) string { return inJSON("Basic " + s + " end") },
						func(s string) string { return "Basic " + url.QueryEscape(s) + " end" },
					} {
						encoded := wrap(encoding.EncodeToString([]byte(before + value + after)))
						clean := s.Replace(encoded)
						require.Contains(t, clean, "$SECRET", "%q %q %q as %s", before, value,
							after, encoded)
						require.LessOrEqual(t, len(clean),
							len(`"Basic $SECRET end"`)+4*((len(before)+2)/3)+4+len("%3D%3D"),
							"%s is %s", encoded, clean)
						require.Contains(t, clean, "end")
					}
				}
			}
		}
	}
}

// What is no secret stays as it is.
func TestOtherTextStays(t *testing.T) {
	s := New([]Secret{{Value: "p&ss<word>", Name: "$A"}, {Value: "hunter2", Name: "$B"}, {}})
	for _, text := range []string{
		"", "hunter", "hunter 2", "HUNTER2", `p\u0027ss`, `\u0026`, `\`, `\\\`, "%", "%2", "%26",
		"p%26s",
		`p\u002`, `p\u{26`, "p\\", "aHVudGV", strings.Repeat(`\`, 100), strings.Repeat("%25", 100),
	} {
		require.Equal(t, text, s.Replace(text))
	}
	require.Equal(t, "text", new(Secrets).Replace("text"))
	require.Equal(t, "text", (*Secrets)(nil).Replace("text"))
	require.Equal(t, "$B and $B, $A", s.Replace("hunter2 and hunter2, p&ss<word>"))
}

// The longest secret comes first, whatever the order.
func TestTheLongestSecretIsTaken(t *testing.T) {
	s := New([]Secret{{Value: "secret", Name: "$A"}, {Value: "secret and more", Name: "$B"}})
	require.Equal(t, "$B $A", s.Replace("secret and more secret"))
	require.Equal(t, "$B", s.Replace(hex.EncodeToString([]byte("secret and more"))))
}

// No text takes long, whatever it repeats.
func TestRedactionIsLinear(t *testing.T) {
	var all []Secret
	for i, value := range values {
		all = append(all, Secret{Value: value, Name: fmt.Sprint("$", i)})
	}
	s := New(all)
	for _, unit := range []string{
		`\`, "%25", "%", "p", "68", "aHVu", `\u0070`, `\x70`, "hunter2hunter", "=", "a",
	} {
		began := time.Now()
		s.Replace(strings.Repeat(unit, 1<<17/len(unit)))
		require.Less(t, time.Since(began), 30*time.Second, "128 KiB of %q", unit)
	}
}

func FuzzReplace(f *testing.F) {
	f.Add("p&ss", `a p\u0026ss b`)
	f.Add(`\\`, `\\\\`)
	f.Fuzz(func(t *testing.T, value, text string) {
		s := New([]Secret{{Value: value, Name: "$"}})
		clean := s.Replace(text)
		if value != "" && !strings.Contains(clean, "$") {
			require.Equal(t, text, clean)
		}
		if value != "" && !strings.Contains(value, "$") {
			for _, encode := range []func(string) string{encodings["as it is"], encodings["%q"], encodings["path"], encodings["hex"]} {
				require.Contains(t, s.Replace(encode(value)), "$")
			}
		}
	})
}
