package detect

// Values that nobody drew at random: names in code, and rows of characters in order or over and over.

// isOrdered tells whether seven of eight bytes of a value follow the byte before in the alphabet or
// in counting, as in 1234567890abcdef.
func isOrdered(value string) bool {
	steps := 0
	for i := 1; i < len(value); i++ {
		if isNext(value[i-1]|0x20, value[i]|0x20) {
			steps++
		}
	}
	return 8*steps >= 7*len(value)
}

// isRepeated tells whether a value is one part over and over, three times or more, as in
// deadbeefdeadbeefdeadbeef.
func isRepeated(value string) bool {
	for period := 1; period <= min(len(value)/3, maxPeriod); period++ {
		if value[period] == value[0] && value[period:] == value[:len(value)-period] {
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
	all := 0      // pairs of letters in runs
	frequent := 0 // of these, how many are frequent
	for i := 0; i < len(value); i++ {
		if !isLetter(value[i]) {
			if isDigit(value[i]) {
				size++
			}
			continue
		}

		// A run ends where camelCase begins a new word.
		start := i
		known := 0
		for i+1 < len(value) && isLetter(value[i+1]) {
			a := value[i]
			b := value[i+1]
			if b < 'a' && (a >= 'a' || i+2 < len(value) && isLower(value[i+2])) {
				break
			}
			known += int(pairs[a&31] >> (b & 31) & 1)
			i++
		}
		n := i + 1 - start
		size += n
		if n >= 3 {
			inRuns += n
			all += n - 1
			frequent += known
			if 5*(all-frequent) >= len(value) {
				return false // the pairs that are left cannot make up for those
			}
		}
	}
	return all >= 8 && 5*frequent >= 4*all && 5*inRuns >= 3*size
}

// pairs has, for each letter by its number in the alphabet, a bit for each that often follows it.
// They are the 220 most frequent pairs in the words of manuals and of code, nine of ten there.
var pairs = func() (sets [32]uint32) {
	for a, after := range [32]string{
		'a' & 31: "bcdgiklmnprstuvy",
		'b' & 31: "aeilou",
		'c' & 31: "acehiklortu",
		'd' & 31: "adeilnorsu",
		'e' & 31: "acdefglmnpqrstvx",
		'f' & 31: "aefiloru",
		'g' & 31: "eioru",
		'h' & 31: "aeiot",
		'i' & 31: "abcdefglmnoprstvz",
		'j' & 31: "",
		'k' & 31: "eis",
		'l' & 31: "adeilostuy",
		'm' & 31: "aeimopu",
		'n' & 31: "acdefginostuv",
		'o' & 31: "bcdgiklmnoprstuvw",
		'p' & 31: "aeiloprstu",
		'q' & 31: "u",
		'r' & 31: "acdeilmnorstuvy",
		's' & 31: "acehilopstuy",
		't' & 31: "acehiloprstuy",
		'u' & 31: "abcefilmnprst",
		'v' & 31: "aei",
		'w' & 31: "aeior",
		'x' & 31: "pt",
		'y' & 31: "p",
		'z' & 31: "e",
	} {
		for i := range len(after) {
			sets[a] |= 1 << (after[i] & 31)
		}
	}
	return sets
}()
