package detect

// passwordWords is what passwords are called in other languages than English.
const passwordWords = "passwort,kennwort,mot de passe,contraseña,CONTRASEÑA,senha,palavra-passe,wachtwoord,lösenord,passord,adgangskode,salasana,heslo,hasło,jelszó,lozinka,parola,şifre,Şifre," +
	"пароль,Пароль,ПАРОЛЬ,κωδικός,סיסמה,密码,密碼,パスワード,비밀번호,mật khẩu,kata sandi"

// foreign looks at what is assigned to such a word.
func (s *scan) foreign(start, end int) {
	if start > 0 && isLetter(s.text[start]) && isLetter(s.text[start-1]) && joined(s.text, start) {
		return
	}
	if a, ok := s.assignment(s.nameAround(start, end), end, foreignVerbs); ok {
		s.assigned(a, passwordMeaning)
	}
}

// telegram looks for a bot's token: 8 to 10 digits, a colon, AA and 33 more.
func (s *scan) telegram(start, end int) {
	from := start
	for from > 0 && start-from < 11 && isDigit(s.text[from-1]) {
		from--
	}
	if start-from < 8 || start-from > 10 || s.text[start:end] != ":AA" || !s.begins(from) {
		return
	}
	v := telegramRest.match(s.text, end)
	if v.open {
		s.hold(from)
	}
	if rest := s.text[end:max(v.end, end)]; v.ok && !isPlaceholder(rest) && entropy(rest) >= 3.5 {
		s.add("telegram-bot-token", from, v.end, .95)
	}
}

// telegramTail holds what may be the beginning of one.
func (s *scan) telegramTail() {
	end := len(s.text)
	for _, c := range []byte("AA:") {
		if end > 0 && s.text[end-1] == c {
			end--
		}
	}
	from := end
	for from > 0 && end-from < 11 && isDigit(s.text[from-1]) {
		from--
	}
	if n := end - from; n > 0 && n <= 10 && (n >= 8 || end == len(s.text)) && s.begins(from) {
		s.hold(from)
	}
}

var telegramRest = forms{}.read("[A-Za-z0-9_-]{33}")
