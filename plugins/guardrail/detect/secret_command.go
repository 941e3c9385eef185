package detect

import "strings"

// A command is given a password by an option: as the next word, or written against it.
type command struct {
	names, options  string // separated by commas
	apart, attached bool
}

var commands = [...]command{
	{"sshpass,mongo ,mongosh,mongodump,mongorestore", " -p", true, true},
	{"mysql,mariadb", " -p", false, true},
	{"redis-cli", " -a", true, false},
	{"docker login,podman login,az login,oc login,cf login,helm registry login,useradd,usermod,rdesktop", " -p", true, false},
	{"ldapsearch,ldapadd,ldapmodify,ldapdelete", " -w", true, false},
	{"keytool,jarsigner", " -storepass, -keypass", true, false},
	{"openssl enc,openssl aes-256-cbc", " -k", true, false},
	{"ipmitool,sqlcmd,bcp ", " -P", true, false},
	{"7z ,7za ", " -p", false, true},
	{"xfreerdp", " /p:", false, true},
	{"aws configure set", " aws_secret_access_key, aws_session_token", true, false},
}

// maxCommand is how far behind a command's name an option is looked for, in bytes, on the same line.
const maxCommand = 256

// command looks for the password that a command is given.
func (s *scan) command(c *command, start, end int) {
	if start > 0 && isWord(s.text[start-1]) {
		return
	}
	line := s.text[end:min(len(s.text), end+maxCommand)]
	if n := strings.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	for option := range strings.SplitSeq(c.options, ",") {
		for from := 0; ; {
			n := strings.Index(line[from:], option)
			if n < 0 {
				break
			}
			from += n + len(option)
			at := end + from
			apart := at < len(s.text) && s.text[at] == ' '
			if apart && !c.apart || !apart && !c.attached {
				continue
			}
			if apart {
				at++
			}
			if s.argument("command-password", at, !apart) {
				break
			}
		}
	}
}

// argument adds a word of a command line as a password, if it can be one. One that is written against its option is one
// only if it looks like it: -print is another option.
func (s *scan) argument(rule string, at int, looks bool) bool {
	text, quote := s.text, byte(0)
	if at < len(text) && (text[at] == '"' || text[at] == '\'') {
		quote = text[at]
		at++
	}
	end := at
	for end < len(text) && end-at < maxValue && (text[end] > ' ' || quote != 0 && text[end] == ' ') && text[end] != quote && (quote != 0 || strings.IndexByte("\"';|`)", text[end]) < 0) {
		end++
	}
	if end == len(text) {
		s.hold(at)
	}
	return s.given(rule, at, end, looks)
}

// given adds text[at:end] as a password, if it is no placeholder.
func (s *scan) given(rule string, at, end int, looks bool) bool {
	value := s.text[at:end]
	if len(value) < 4 || len(value) >= maxValue || isVariable(value) || isPlaceholder(value) || isManual(value) || isNumber(value) || looks && !isPassword(value) {
		return false
	}
	s.add(rule, at, end, .8)
	return true
}

// isNumber tells whether a value is digits and points only: a port, a version.
func isNumber(value string) bool {
	for i := range len(value) {
		if !isDigit(value[i]) && value[i] != '.' {
			return false
		}
	}
	return true
}

// pgpass looks for the password in a line of PostgreSQL's password file, host:5432:database:user:password.
func (s *scan) pgpass(at int) {
	text, fields, i := s.text, 0, at
	for i < len(text) && i-at < 128 && text[i] > ' ' && fields < 2 {
		if text[i] == ':' {
			fields++
		}
		i++
	}
	if fields == 2 {
		s.argument("pgpass", i, false)
	}
}

// oracle looks for the password in jdbc:oracle:thin:user/password@host.
func (s *scan) oracle(at int) {
	text, slash := s.text, at
	for slash < len(text) && slash-at < 64 && isWord(text[slash]) {
		slash++
	}
	if slash == at || slash >= len(text) || text[slash] != '/' {
		return
	}
	end := slash + 1
	for end < len(text) && end-slash < 128 && urlSet[text[end]] {
		end++
	}
	if end == len(text) {
		s.hold(slash + 1)
	} else if text[end] == '@' {
		s.given("url-password", slash+1, end, false)
	}
}

// identified looks for the password in SQL's IDENTIFIED BY 'password'.
func (s *scan) identified(at int) {
	if at < len(s.text) && (s.text[at] == '\'' || s.text[at] == '"') {
		s.argument("sql-password", at, false)
	}
}
