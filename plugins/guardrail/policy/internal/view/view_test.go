package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/policy/internal/view"
)

func TestViews(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{"plain text, 4111 1111 1111 1111: 100% & more \\ /usr/local/lib", "", ""},
		{"zero\u200bwidth", view.NormalisedView, "zerowidth"},
		{"４１１１", view.NormalisedView, "4111"},
		{"раѕѕwоrd", view.NormalisedView, "password"},
		{"𝐢𝓰𝔫𝕠𝗿𝙚 ⓟⓛⓔⓐⓢⓔ 🅐🅛🅛", view.NormalisedView, "ignore please ALL"},
		{"Zürich – naïve", view.NormalisedView, "Zurich - naive"},
		{"i\u0336g\u0336nore", view.NormalisedView, "ignore"},
		{"٤١١١ ४१११", view.NormalisedView, "4111 4111"},
		{"pass\x1b[31mword\x1b[0m", view.NormalisedView, "password"},
		{"日本語 ﾊﾝｶｸ", view.NormalisedView, "日本語 ハンカク"},
		{"say aGVsbG8gd29ybGQ= now", view.DecodedView, "say hello world now"},
		{"say aGVsbG8gd29ybGQ now", view.DecodedView, "say hello world now"},
		{"x.io/p/aGVsbG8gd29ybGQ/y", view.DecodedView, "x.io/p/hello world/y"},
		{"h=68656c6c6f20776f726c64;", view.DecodedView, "h=hello world;"},
		{"h=0x68656c6c6f20776f726c64", view.DecodedView, "h=hello world"},
		{"68 65 6c 6c 6f 20 77 6f 72 6c 64!", view.DecodedView, "hello world!"},
		{"0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x20, 0x77, 0x6f, 0x72", view.DecodedView, "hello wor"},
		{"a%40b.example c%C3%A9", view.DecodedView, "a@b.example ce"},
		{"a&#64;b &#x40 &commat; AT&T &c", view.DecodedView, "a@b @ @ AT&T &c"},
		{`\x61\u0062\u{63}\U00000064\145 \ud83d\ude00 \n`, view.DecodedView, "abcde 😀 \n"},
		{`a\tb\"c\\u0041 C:\dir`, view.DecodedView, "a\tb\"c\\u0041 C:\\dir"},
		{`a\\u0041\\n4`, view.DecodedTwiceView, "aA\n4"},
		{"please i g n o r e it", view.DecodedView, "please ignore it"},
		{"i.g.n.o.r.e", view.DecodedView, "ignore"},
		{"aABlAGwAbABvACAAdwBvAHIAbABkAA==", view.DecodedView, "hello world"},
		{"YUdWc2JHOGdkMjl5YkdRPQ==", view.DecodedTwiceView, "hello world"},
		{"aGVsb%47%38gd29ybGQ", view.DecodedTwiceView, "hello world"},
		{"aGVs\u200bbG8gd29ybGQ", view.DecodedView, "hello world"},
		{"hi \U000e0069\U000e0067\U000e006e there", view.HiddenView, "hi ign there"},
		{"hi 😀\U000e0158\U000e0159", view.HiddenView, "hi 😀hi"},
		{"emoji ❤️ only", view.NormalisedView, "emoji ❤ only"},
	} {
		views := new(view.Views).Of(c.text)
		if c.name == "" {
			require.Empty(t, views, c.text)
			continue
		}
		i := 0
		for i < len(views) && views[i].Name != c.name {
			i++
		}
		require.Less(t, i, len(views), "%q has no view %s", c.text, c.name)
		require.Equal(t, c.want, views[i].Text, c.text)
	}
}

func TestOriginal(t *testing.T) {
	const text = "mail a\u200b@b, then Zm9vQGJhci5leGFtcGxl and é"
	for _, c := range []struct{ name, part, want string }{
		{view.NormalisedView, "a@b", "a\u200b@b"},
		{view.NormalisedView, "then", "then"},
		{view.NormalisedView, " and e", " and é"},
		{view.DecodedView, "foo@bar.example", "Zm9vQGJhci5leGFtcGxl"},
		{view.DecodedView, "bar", "Zm9vQGJhci5leGFtcGxl"},
		{view.DecodedView, "n foo", "n Zm9vQGJhci5leGFtcGxl"},
	} {
		for _, v := range new(view.Views).Of(text) {
			if v.Name == c.name {
				at := strings.Index(v.Text, c.part)
				require.GreaterOrEqual(t, at, 0)
				start, end := v.Original(at, at+len(c.part))
				require.Equal(t, c.want, text[start:end])
			}
		}
	}
}

// texts draws what is often disguised.
var texts = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{
			"aGVsbG8gd29ybGQ=",
			"aGVsbG8gd29ybGQ",
			"YUdWc2JHOGdkMjl5YkdRPQ==",
			"68656c6c6f20776f726c64",
			"%41",
			"%C3%A9",
			"%e2%80",
			"&#65;",
			"&amp",
			"&notit;",
			`\u0041`,
			`\ud83d\ude00`,
			`\x41`,
			"i g n o r e",
			"68 65 6c 6c 6f 20 77 6f 72",
			"\u200b",
			"é",
			"e\u0301",
			"раѕ",
			"４",
			"\U000e0041",
			"\U000e0150",
			"\x1b[3",
			"1m",
			"\x1b",
			"\xe2\x80",
			"\xff",
			"\n",
			"\r\n",
			"a",
			"/",
			"-",
			"=",
			" ",
			"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2",
			"ﷺ",
			"aABlAGwAbABvACAAdwBvAHIAbABkAA",
		}),
		rapid.StringN(0, 4, -1),
		rapid.StringMatching(`[a-zA-Z0-9+/=%&#;x\\ ]{0,6}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }),
	), 0, 12).Draw(t, "parts")
	return strings.Join(parts, "")
})

func TestPartsOfViewsComeFromTheOriginal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { held(t, texts.Draw(t, "text")) })
}

func FuzzViews(f *testing.F) {
	f.Add("a\u200bb aGVsbG8gd29ybGQ= %41 &#65; \\u0041 i g n o r e \xe2\x80 \U000e0041")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1000 {
			held(t, text)
		}
	})
}

// held holds the views of a text to what they promise.
func held(t require.TestingT, text string) {
	valid := utf8.ValidString(text)
	for _, v := range append(new(view.Views).Of(text), view.Raw(text)) {
		require.LessOrEqual(t, len(v.Text), 12*len(text))
		lastStart, lastEnd := 0, 0
		for at := range len(v.Text) {
			start, end := v.Original(at, at+1)
			require.True(t, 0 <= start && start < end && end <= len(text),
				"%s view: %d to %d of %d bytes", v.Name, start, end, len(text))
			require.True(t, lastStart <= start && lastEnd <= end,
				"%s view: the map is not monotone at %d", v.Name, at)
			lastStart, lastEnd = start, end
			if valid {
				require.True(t, utf8.ValidString(text[start:end]),
					"%s view: %q is cut from characters", v.Name, text[start:end])
			}
		}
		if v.Name == view.NormalisedView {
			require.Equal(t, view.Fold(text), v.Text)
			if valid { // what is taken out between bytes could make a character of them
				require.Equal(t, v.Text, view.Fold(v.Text), "folded is folded")
			}
			for at := range v.Text {
				for _, end := range []int{at + len(string([]rune(v.Text[at:])[0])), len(v.Text)} {
					start, stop := v.Original(at, min(end, len(v.Text)))
					require.Contains(t, view.Fold(text[start:stop]),
						v.Text[at:min(end, len(v.Text))])
				}
			}
		}
	}
	settled := 0
	for n := range len(text) + 1 {
		now := open(text[:n])
		require.True(t, settled <= now && now <= n,
			"the settled place decreased, or is beyond the end")
		settled = now
	}
}

func TestWhatIsPlainCostsNothing(t *testing.T) {
	text := strings.Repeat(
		"Plain words, in ASCII; 12.50 USD (50 % of 25), https://plughook.example/a/b?c=d&e=f\n", 20)
	var views view.Views
	require.Zero(t, testing.AllocsPerRun(10, func() {
		if len(views.Of(text)) > 0 {
			t.Error("a view of plain text")
		}
	}))
}

// A view costs an allocation, for its text.
func TestWhatViewsCost(t *testing.T) {
	for _, text := range []string{
		"Die Brücke über den Fluß war gesperrt – niemand wußte, für wie lange. ",
		"Мост через реку был закрыт, и никто не знал, надолго ли. ",
		"桥已经关闭了，没有人知道要多久。",
		"No “bridge” today 👍🏽‍❤️, it’s closed… ",
		"Ignore 61 62 63 64 65 66 67 68 69 6a\u200b, aWdub3JlIGFsbCB0aGF0 twice \U000e0061",
	} {
		var views view.Views
		text = strings.Repeat(text, 20)
		n := float64(len(views.Of(text)))
		require.Positive(t, n)
		require.Equal(t, n, testing.AllocsPerRun(10, func() { views.Of(text) }), text[:40])
	}
}

// What no change of a view is about stands in the view that it was made from, in the same order, and
// comes from the same bytes of the original; or all of it stands so in the view without what is hidden.
func TestChangesOfViews(t *testing.T) {
	type shown struct {
		byte
		start, end int
	}
	bytesOf := func(v view.View) (all []shown) {
		for at := range len(v.Text) {
			start, end := v.Original(at, at+1)
			all = append(all, shown{v.Text[at], start, end})
		}
		return all
	}
	without := map[string]string{
		view.HiddenView: view.NormalisedView, view.HiddenDecoded: view.DecodedView,
	}
	skipped := 0
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t,
			"text") + rapid.SampledFrom([]string{"", "\u202edlrow\u202c", "\U000e0061"}).
			Draw(t, "hidden") +
			texts.Draw(t, "more")
		text = strings.ToValidUTF8(text, "?")
		views := append([]view.View{view.Raw(text)}, new(view.Views).Of(text)...)
		for i, v := range views[1:] {
			all := bytesOf(v)
			changes := [][2]int{}
			for start, end := range v.Changes {
				changes = append(changes, [2]int{start, end})
			}
			changes = append(changes, [2]int{len(v.Text), len(v.Text)})
			// missing returns the first part between two changes that another view has not.
			missing := func(other view.View) string {
				old := bytesOf(other)
				at := 0
				for _, change := range changes {
					start := change[0]
					for n := 0; at < start; n++ {
						if n+start-at > len(old) {
							return v.Text[at:start]
						}
						if slices.EqualFunc(old[n:n+start-at], all[at:start], func(a, b shown) bool {
							// A run that is decoded may begin earlier where nothing hidden is shown.
							return a == b || a.byte == b.byte && v.Name == view.HiddenDecoded
						}) {
							old = old[n+start-at:]
							skipped += start - at
							at = start
						}
					}
					at = change[1]
				}
				return ""
			}
			before := views[i]
			if v.Name == view.HiddenView {
				before = views[0]
			}
			lost := missing(before)
			for _, other := range views {
				if other.Name == without[v.Name] && lost != "" {
					lost = missing(other)
				}
			}
			require.Empty(t, lost, "%s of %q", v.Name, text)
		}
	})
	require.Positive(t, skipped)
}

// A place of the original is found in a view: what is before it there comes from before it.
func TestAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(texts.Draw(t, "text"), "?")
		for _, v := range new(view.Views).Of(text) {
			for place := range len(text) + 1 {
				at := v.At(place)
				if at < len(v.Text) {
					_, end := v.Original(at, at+1)
					require.Greater(t, end, place)
				}
				if at > 0 {
					start, _ := v.Original(at-1, at)
					require.Less(t, start, place)
				}
			}
		}
	})
}

// What views are made of is nothing of the text before, and nothing is kept of one that is
// forgotten.
func TestViewsAreOfOneText(t *testing.T) {
	shown := func(list []view.View) (all []string) {
		for _, v := range list {
			all = append(all, v.Name, v.Text)
			for at := range v.Text {
				start, end := v.Original(at, len(v.Text))
				all = append(all, fmt.Sprint(start, end))
			}
		}
		return all
	}
	var views view.Views
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		require.Equal(t, shown(new(view.Views).Of(text)), shown(views.Of(text)))
		require.Equal(t, shown(new(view.Views).Of(text)), shown(views.Of(text)))
	})
	require.Contains(t, fmt.Sprintf("%s", []any{views.Of("t\u00e9xt aGVsbG8gd29ybGQ="), views}),
		"hello world")
	views.Forget()
	left := fmt.Sprintf("%s", []any{views})
	require.NotContains(t, left, "hello")
	require.NotContains(t, left, "text")
}
