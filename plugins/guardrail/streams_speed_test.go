package guardrail_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// streamTexts returns texts of a size, in bytes, of many kinds.
func streamTexts(size int) map[string]string {
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(f func() string) string {
		var b strings.Builder
		for b.Len() < size {
			b.WriteString(f())
		}
		return b.String()[:size]
	}
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	const prose = "It was a quiet day by the river, and nobody had anything to say about the boats. "
	return map[string]string{
		"prose":  fill(func() string { return prose }),
		"digits": fill(func() string { return fmt.Sprintf("%d ", r.IntN(100000)) }),
		"ssns": fill(func() string {
			return fmt.Sprintf("%03d-%02d-%04d ", r.IntN(1000), r.IntN(100), r.IntN(10000))
		}),
		"cards": fill(func() string {
			return fmt.Sprintf("4%03d %04d %04d %04d, ", r.IntN(1000), r.IntN(10000), r.IntN(10000),
				r.IntN(10000))
		}),
		"ibans": fill(func() string {
			return fmt.Sprintf("DE%02d %04d %04d %04d %04d %02d\n", r.IntN(100), r.IntN(10000),
				r.IntN(10000), r.IntN(10000), r.IntN(10000), r.IntN(100))
		}),
		"phones": fill(func() string {
			return fmt.Sprintf("+49 %d %d, (%03d) %03d-%04d; ", r.IntN(1000), r.IntN(1e7),
				r.IntN(1000), r.IntN(1000), r.IntN(10000))
		}),
		"floats": fill(func() string {
			return fmt.Sprintf("%.4f,%.6f,%.2f\n", r.Float64(), 100*r.Float64(), 1000*r.Float64())
		}),
		"dates": fill(func() string {
			return fmt.Sprintf("%d-%02d-%02d %02d:%02d:%02d 10.0.%d.%d GET /a/%d\n",
				2000+r.IntN(30), r.IntN(13), r.IntN(32), r.IntN(24), r.IntN(60), r.IntN(60),
				r.IntN(256), r.IntN(256), r.IntN(1000))
		}),
		"mails": fill(func() string { return fmt.Sprintf("ann%d@example.com ", r.IntN(1000)) }),
		"json": fill(func() string {
			return fmt.Sprintf(`{"name": "ann", "id": %d, "text": "a\nb"}, `, r.IntN(100000))
		}),
		"script": fill(func() string {
			return pick("function a(b,c){return b+c}", "var d=e.f(g,h);", "if(i&&j||!k){l=m[n]}",
				"for(o=0;o<p.length;o++)q.push(r[o]);", `s.t="u";`)
		}),
		"lines of base64": fill(
			func() string { return base64.StdEncoding.EncodeToString(random(57)) + "\n" }),
		"lines of prose in base64": fill(func() string {
			return base64.StdEncoding.EncodeToString([]byte(prose)[:57]) + "\n"
		}),
		"hex":          fill(func() string { return hex.EncodeToString(random(20)) + " " }),
		"prose in hex": fill(func() string { return hex.EncodeToString([]byte(prose)) + " " }),
		"pairs":        fill(func() string { return fmt.Sprintf("%02x ", r.IntN(256)) }),
		"percent":      fill(func() string { return url.QueryEscape(prose + "ä, ö & ü?") }),
		"entities": fill(
			func() string { return "Tom &amp; Jerry&#39;s &lt;b&gt;caf&eacute;&lt;/b&gt; " }),
		"one number":    fill(func() string { return fmt.Sprint(r.IntN(10)) }),
		"one word":      fill(func() string { return string('a' + rune(r.IntN(26))) }),
		"base64":        fill(func() string { return base64.RawStdEncoding.EncodeToString(random(3)) }),
		"prose, base64": fill(func() string { return "aGVyb24gYXQgYW5uQGV4YW1wbGUuY29t" }),
		"chinese": fill(func() string {
			return pick("今天", "我们", "的", "人", "去", "河边", "看", "船", "，", "。", "很", "安静", "没有", "说话")
		}),
		"cyrillic": fill(func() string {
			return "Это был тихий день у реки, и никто не говорил о лодках. "
		}),
	}
}

// Texts of a kind in chunks of some bytes, and as wholes. In the chunks a text is judged again and
// again. The same event brings each chunk of a stream, since to make an event for each byte takes
// as long as the guardrail does.
func BenchmarkStreams(b *testing.B) {
	p := quiet(b, guardrail.Config{Key: []byte("a key of sixteen bytes, and more")})
	perKB := func(b *testing.B, text string) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1000*1024/float64(b.N*len(text)), "µs/KB")
	}
	for name, text := range streamTexts(16 << 10) {
		b.Run("whole/"+name, func(b *testing.B) {
			p := policy.Default()
			for b.Loop() {
				p.Judge(policy.Output, policy.Scope{}, text)
			}
			perKB(b, text)
		})
		for _, size := range []int{1, 4, 20, 100} {
			b.Run(fmt.Sprintf("%d bytes/%s", size, name), func(b *testing.B) {
				for b.Loop() {
					inv := &session.Invocation{ID: "i", Key: key}
					e := session.Reply("")
					e.ID = "e"
					e.Author = "bot"
					e.Partial = true
					for at := 0; at < len(text); at += size {
						e.Content.Parts[0].Text = text[at:min(len(text), at+size)]
						p.OnEvent(ctx, inv, e)
					}
					p.AfterRun(ctx, inv, plugin.End{})
				}
				perKB(b, text)
			})
		}
	}
}
