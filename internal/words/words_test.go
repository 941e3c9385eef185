package words

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func of(text string) []string {
	set := map[string]struct{}{}
	Add(set, text)
	return slices.Sorted(maps.Keys(set))
}

func found(text, want string) bool {
	has := of(text)
	list := Wanted(want)
	for _, w := range list {
		if !slices.Contains(has, w) {
			return false
		}
	}
	return len(list) > 0
}

func TestWordsAreCut(t *testing.T) {
	for _, c := range []struct{ text, words string }{
		{"", ""},
		{" ,.-_!", ""},
		{"The refund of order 4711, book_table.", "4711 book of order refund table the"},
		{"don't", "don t"},
		{"a1b2", "a1b2"},
		{"co\u00adoperate", "cooperate"},
		{"naïve Élan İstanbul ısı", "elan isi istanbul naive"},
		{"nai\u0308ve", "naive"},
		{"Straße ẞ Ærø Łódź Ｆｕｌｌ ﬁne ① ½", "1 2 aero fine full lodz ss strasse"},
		{"ΟΔΟΣ οδός", "οδοσ"},
		{"Ёлка й", "елка и"},
		{"مُحَمَّد محـمد أحمد", "احمد محمد"},
		{"می\u200cخواهم", "میخواهم"},
		{"שָׁלוֹם", "שלום"},
		{"हिन्दी में", "में हिन्दी"},
		{"東京都", "京 京都 東 東京 都"},
		{"iPhone手机2台", "2 iphone 台 手 手机 机"},
		{"ｶﾞｽ", "ガ ガス ス"},
		{"スーパー", "ス スー パ パー ー ーパ"},
		{"กินข้าว", "กิ กิน ข้ ข้า น นข้ ว า าว"},
		{"환불을", "불 불을 을 환 환불"},
		{"\u0301\u0e34 \ufffd\xff", ""},
	} {
		require.Equal(t, c.words, strings.Join(of(c.text), " "), c.text)
	}
}

// A search wants the pairs of a script without spaces, and a character that stands alone.
func TestWanted(t *testing.T) {
	require.Equal(t, []string{"refund", "order"}, Wanted("Refund order, REFUND"))
	require.Equal(t, []string{"東京", "京都", "店"}, Wanted("東京都 店"))
	require.Empty(t, Wanted("?!"))
}

func TestFoundOrNot(t *testing.T) {
	for _, c := range []struct {
		text, want string
		found      bool
	}{
		{"I want a refund for both flights", "REFUND flights", true},
		{"I want a refund", "refund flights", false},
		{"refunds", "refund", false},
		{"我想退款，谢谢", "退款", true},
		{"我想退款，谢谢", "款退", false},
		{"退 款", "退款", false},
		{"환불을 원해요", "환불", true},
		{"ขอคืนเงินค่าตั๋ว", "คืนเงิน", true},
		{"払い戻しをお願いします", "払い戻し", true},
	} {
		require.Equal(t, c.found, found(c.text, c.want), "%s in %s", c.want, c.text)
	}
}

func TestLongWordsAreCut(t *testing.T) {
	for _, letter := range []string{"a", "я"} {
		long := strings.Repeat(letter, 1000)
		require.Equal(t, []string{strings.Repeat(letter, MaxLength)}, of(long))
		require.True(t, found(long, long+letter))
	}
}

// Whatever is cut, its words are words, and a text is found by each part of it that ends where words end.
func FuzzCut(f *testing.F) {
	for _, text := range []string{
		"The refund of order 4711", "naïve Straße ΟΔΟΣ", "東京都 手机2台 ｶﾞｽ", "กินข้าว", "हिन्दी", "مُحَمَّد", "שָׁלוֹם",
		"환불을 \u1112\u1161\u11ab", "\u0344\u0345ΐ", "a\u200db\u200bc", "\xff\xfe", "ǅŉẞ", "\u1e9b\u0323",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, word := range of(text) {
			require.NotEmpty(t, word)
			require.True(t, utf8.ValidString(word), "%q", word)
			require.LessOrEqual(t, len(word), 4*2*MaxLength, "%q", word)
			for _, r := range word {
				require.True(t, unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r),
					"%q in %q", r, word)
				require.False(t, r < utf8.RuneSelf && unicode.IsUpper(r), "%q", word)
			}
			// Who looks for a word as it was cut finds it.
			require.Subset(t, of(text), Wanted(word), "%q of %q", word, text)
		}
		// A text is found by itself, in capitals, and in the middle of another.
		if len(Wanted(text)) > 0 {
			require.True(t, found(text, text))
			require.True(t, found("x "+text+" y", text))
			if ascii(text) {
				require.True(t, found(text, strings.ToUpper(text)))
			}
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	for _, text := range []string{strings.Repeat("I want a refund for order 4711 of Friday. ", 25), strings.Repeat("我想退款，谢谢。Straße ", 30)} {
		b.Run(text[:4], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Add(map[string]struct{}{}, text)
			}
		})
	}
}
