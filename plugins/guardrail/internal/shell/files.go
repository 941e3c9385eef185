package shell

import (
	"regexp"
	"strings"
)

// How commands use the files that their words name. Of a command that stands nowhere, each word is read,
// and perhaps written. What is written besides, behind an option, is a call of > already; see commands.txt.
var (
	// noFiles have no word that names a file.
	noFiles = words(`echo printf true false : exit return sleep seq date kill export unset set shift hash which man`)

	// readers write nothing but where a call of > says so.
	readers = words(`cat head tail less more nl tac rev grep egrep fgrep zgrep rg ripgrep ag ack find tree ls dir stat
		file wc diff cmp comm uniq cut od hexdump strings base64 base32 md5sum sha1sum sha256sum sha512sum cksum
		jq du cd pushd pwd test [ source . sort sed gsed awk gawk mawk nawk curl wget dd openssl ssh ssh-add kubectl
		fold fmt column pr shuf join paste iconv zcat bzcat xzcat zstdcat expand look numfmt`)

	// writers read nothing.
	writers = words(`rm rmdir touch mkdir mkfifo chmod chown chgrp truncate shred unlink tee`)

	// copiers write the last operand, or what -t names, and read the others.
	copiers = words(`cp install rsync scp ln mv split xxd`)

	// targets are copiers with the option -t, or --target-directory.
	targets = words(`cp install ln mv`)

	// archivers write the first operand, or what -f names, and read the others.
	archivers = words(`zip tar`)

	// filters write to standard output if they have the option -c.
	filters = words(`gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4`)

	// searchers use what is below directories, and, without an operand, what is below the one where they are.
	searchers = words(`rg ripgrep ag ack find tree tar zip 7z du rsync`)

	// collectors use what is below the directory where they are: they read from elsewhere which files.
	collectors = words(`cpio pax sftp ftp lftp`)

	// unpackers write below the directory where they are, or below the one that they are told.
	unpackers = words(`unzip unrar patch`)

	// recursive are the letters of options, by command, with which it uses what is below a directory.
	recursive = map[string]string{
		"grep": "rR", "egrep": "rR", "fgrep": "rR", "zgrep": "rR", "cp": "rRa", "scp": "r", "ls": "R",
		"diff": "r", "chmod": "R", "chown": "R", "chgrp": "R", "rm": "rR",
	}

	gitReaders = words(`status diff log show blame grep ls-files ls-tree cat-file rev-parse shortlog describe branch archive add
		commit tag push fetch remote`)
	gitSearchers = words(`grep archive`)
	gitUnpackers = words(`apply am clean`)
)

// What the words of a command are, apart from files.
var (
	// programs have a pattern or a program for the first operand, unless an option gives it.
	programs = words(`grep egrep fgrep zgrep rg ripgrep ag ack sed gsed awk gawk mawk nawk jq`)

	// programOptions give the pattern or the program, or a file that holds it.
	programOptions = words(`-e --regexp --expression -f --file --from-file`)

	// textOptions have for a value what names no file, whatever the command is.
	textOptions = words(`--message --grep --title --body --description --author --subject --reason --comment --header
		--user-agent --data-raw --form-string --post-data --format --pretty --ignore --exclude --exclude-dir
		--testNamePattern --test-name-pattern`)

	// texts are more of these, by command.
	texts = map[string]map[string]bool{
		"git":    words(`-m -S -G`),
		"gh":     words(`-b -t`),
		"grep":   words(`-e --regexp --include -A -B -C -m`),
		"rg":     words(`-e --regexp -g --glob --iglob -A -B -C -m -t -T`),
		"sed":    words(`-e --expression -l`),
		"awk":    words(`-F -v`),
		"jq":     words(`--indent`),
		"curl":   words(`-X --request -u --user -e --referer`),
		"find":   words(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -size -mtime -mmin -maxdepth -mindepth -printf`),
		"fd":     words(`-E -e -t -d`),
		"pytest": words(`-k -m`),
		"mocha":  words(`-g`),
		"jest":   words(`-t`),
		"vitest": words(`-t`),
		"go":     words(`-run -bench -skip`),
		"docker": words(`-t --tag --name`),
	}

	// sent are options, by command, whose value names a file only behind an @ or a <.
	sent = map[string]map[string]bool{
		"curl": words(`-d --data --data-ascii --data-binary --data-urlencode -F --form --json --url-query -H --header -A -w --write-out`),
		"gh":   words(`-F --field`),
	}

	// remote are subcommands, by command, whose operands name what is elsewhere. Files stand behind their
	// options.
	remote = map[string]map[string]bool{
		"git":     words(`push fetch pull merge rebase branch tag remote switch cherry-pick revert`),
		"kubectl": words(`get describe delete logs edit label annotate scale rollout explain auth top apply create`),
		"vault":   words(`kv read list delete secrets login status token`),
		"aws":     words(`secretsmanager ssm`),
		"gcloud":  words(`secrets`),
		"az":      words(`keyvault`),
		"docker":  words(`pull push tag rmi inspect logs ps stop rm kill restart images login image network volume`),
	}

	// alike are names of commands that have the options of another one.
	alike = map[string]string{
		"egrep": "grep", "fgrep": "grep", "zgrep": "grep", "ripgrep": "rg", "ag": "rg", "ack": "rg", "gsed": "sed",
		"gawk": "awk", "mawk": "awk", "nawk": "awk", "podman": "docker", "fdfind": "fd",
	}
)

func words(text string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		all[word] = true
	}
	return all
}

// fileOption matches options of remote subcommands that take a file.
var fileOption = regexp.MustCompile(`^-[fFk]$|^--.*(file|cert|key$)`)
