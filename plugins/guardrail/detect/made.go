package detect

// Values that nobody drew at random: words and names in code, and rows that go on as they began.

// isMade tells whether a value of at least 16 bytes was written by a person or follows a pattern,
// so that it is no secret even where one is expected: mostly words, a row that repeats itself
// (deadbeefdeadbeef), or mostly letters and digits in order (1234567890abcdef).
func isMade(value string) bool {
	return len(value) >= 16 && (isOrdered(value) || isRepeated(value) || isWords(value))
}

// isOrdered tells whether at least two thirds of the bytes of a value follow the byte before in
// the alphabet or in counting.
func isOrdered(value string) bool {
	steps := 0
	for i := 1; i < len(value); i++ {
		if isNext(value[i-1]|0x20, value[i]|0x20) {
			steps++
		}
	}
	return 3*steps >= 2*len(value)
}

// isRepeated tells whether a value is one part over and over, three times or more.
func isRepeated(value string) bool {
	for period := 1; period <= min(len(value)/3, maxPeriod); period++ {
		if value[period:] == value[:len(value)-period] {
			return true
		}
	}
	return false
}

// maxPeriod is the longest part whose repetition isRepeated sees, in bytes.
const maxPeriod = 32

// isWords tells whether a value is mostly words, as in Str32Fixed16Utf8Codec4 and api_key_v2. At
// least three of five letters and digits are in runs of three letters or more, and of the pairs of
// letters in these runs at least four of five are frequent in English.
func isWords(value string) bool {
	size := 0     // letters and digits
	inRuns := 0   // of these, how many are in runs
	pairs := 0    // pairs of letters in runs
	frequent := 0 // of these, how many are frequent
	for i := 0; i < len(value); {
		if !isLetter(value[i]) {
			if isDigit(value[i]) {
				size++
			}
			i++
			continue
		}

		// A run ends where camelCase begins a new word.
		end := i + 1
		known := 0
		for end < len(value) && isLetter(value[end]) && isJoined(value, end) {
			if isFrequentPair(value[end-1], value[end]) {
				known++
			}
			end++
		}
		size += end - i
		if end-i >= 3 {
			inRuns += end - i
			pairs += end - i - 1
			frequent += known
		}
		i = end
	}
	return pairs >= 8 && 5*frequent >= 4*pairs && 5*inRuns >= 3*size
}

// isFrequentPair tells whether one letter often follows another in English.
func isFrequentPair(a, b byte) bool { return pairs[lower(a)-'a']>>(lower(b)-'a')&1 == 1 }

// pairs has a bit for each letter that often follows another. The pairs are the 220 most frequent
// ones in the words of manuals and of code, nine of ten that stand there.
var pairs = func() (sets [26]uint32) {
	for a, after := range [26]string{
		'a' - 'a': "bcdgiklmnprstuvy",
		'b' - 'a': "aeilou",
		'c' - 'a': "acehiklortu",
		'd' - 'a': "adeilnorsu",
		'e' - 'a': "acdefglmnpqrstvx",
		'f' - 'a': "aefiloru",
		'g' - 'a': "eioru",
		'h' - 'a': "aeiot",
		'i' - 'a': "abcdefglmnoprstvz",
		'j' - 'a': "",
		'k' - 'a': "eis",
		'l' - 'a': "adeilostuy",
		'm' - 'a': "aeimopu",
		'n' - 'a': "acdefginostuv",
		'o' - 'a': "bcdgiklmnoprstuvw",
		'p' - 'a': "aeiloprstu",
		'q' - 'a': "u",
		'r' - 'a': "acdeilmnorstuvy",
		's' - 'a': "acehilopstuy",
		't' - 'a': "acehiloprstuy",
		'u' - 'a': "abcefilmnprst",
		'v' - 'a': "aei",
		'w' - 'a': "aeior",
		'x' - 'a': "pt",
		'y' - 'a': "p",
		'z' - 'a': "e",
	} {
		for i := range len(after) {
			sets[a] |= 1 << (after[i] - 'a')
		}
	}
	return sets
}()
