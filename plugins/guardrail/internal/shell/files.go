package shell

import (
	"regexp"
	"strings"
)

// How commands use the files that their words name. Of a command that stands nowhere, each word is read,
// and perhaps written. What is written besides, behind an option, is a call of > already; see commands.txt.
var (
	// noFiles have no word that names a file.
	noFiles = words(`echo printf true false : exit return sleep seq kill export unset set shift hash which`)

	// readers write nothing but where a call of > says so.
	readers = words(`cat head tail less more nl tac rev grep egrep fgrep zgrep rg ripgrep ag ack find tree ls dir stat
		file wc diff cmp comm uniq cut od hexdump strings base64 base32 md5sum sha1sum sha256sum sha512sum cksum
		jq du cd pushd pwd test [ source . sort sed gsed awk gawk mawk nawk curl wget dd openssl ssh ssh-add kubectl
		fold fmt column pr shuf join paste iconv zcat bzcat xzcat zstdcat expand look numfmt date man readlink realpath`)

	// writers read nothing.
	writers = words(`rm rmdir touch mkdir mkfifo chmod chown chgrp truncate shred unlink tee`)

	// copiers write the last operand, or what -t names, and read the others.
	copiers = words(`cp install rsync scp ln mv split xxd`)

	// targets are copiers with the option -t, or --target-directory.
	targets = words(`cp install ln mv`)

	// movers make what is below a directory known under another name.
	movers = words(`mv ln`)

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

	// gitChangers change files below the directory where they are.
	gitChangers  = words(`pull merge rebase reset checkout restore switch stash revert cherry-pick`)
	gitUnpackers = words(`apply am clean`)
)

// What the words of a command are, apart from files.
var (
	// programs have a pattern or a program for the first operand, unless an option gives it.
	programs = words(`grep egrep fgrep zgrep rg ripgrep ag ack sed gsed awk gawk mawk nawk jq`)

	// programOptions give the pattern or the program, or a file that holds it.
	programOptions = words(`-e --regexp --expression -f --file --from-file`)

	// textOptions have for a value what names no file, whatever the command is.
	textOptions = words(`--message --grep --title --body --description --author --subject --reason --comment
		--user-agent --data-raw --form-string --post-data --ignore --exclude --exclude-dir --namespace
		--testNamePattern --test-name-pattern`)

	// attachedTexts are the same if their value stands in the same word, and have none for many commands.
	attachedTexts = words(`--format --pretty --header`)

	// texts are more of these, by command, or by git and its subcommand.
	texts = map[string]map[string]bool{
		"gh":     words(`-b -t`),
		"ag":     words(`-A -B -C -m -G`),
		"grep":   words(`-e --regexp --include -A -B -C -m -d -D`),
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
		"docker": words(`-t --tag --name --format`),
		"helm":   words(`-n`),
		"date":   words(`-d --date -s --set`),

		"git commit": words(`-m`), "git tag": words(`-m`), "git merge": words(`-m`), "git stash": words(`-m`), "git notes": words(`-m`),
		"git checkout": words(`-b -B`), "git switch": words(`-c -C`), "git clone": words(`-b -o`), "git worktree": words(`-b -B`),
		"git log": words(`-S -G`), "git show": words(`-S -G`), "git diff": words(`-S -G`), "git grep": words(`-e -m -A -B -C`),
	}

	// sent are options, by command, whose value names a file only behind an @ or a <.
	sent = map[string]map[string]bool{
		"curl": words(`-d --data --data-ascii --data-binary --data-urlencode -F --form --json --url-query -H --header -A -w --write-out`),
		"gh":   words(`-F --field -H --header`),
	}

	// remote are subcommands, by command, whose operands name what is elsewhere, unless they begin as paths
	// do. Files stand behind their options.
	remote = map[string]map[string]bool{
		"git":     words(`push fetch pull merge rebase branch tag remote switch cherry-pick revert`),
		"kubectl": words(`get describe delete logs edit label annotate scale rollout explain auth top apply create`),
		"vault":   words(`kv read list delete secrets login status token`),
		"aws":     words(`secretsmanager ssm`),
		"gcloud":  words(`secrets`),
		"az":      words(`keyvault`),
		"docker":  words(`pull push tag rmi inspect logs ps stop rm kill restart images login image network volume`),
		"gh":      words(`api pr issue run workflow search label`),
		"npm":     words(`install i add remove uninstall run view`),
		"yarn":    words(`add remove run`),
		"pip":     words(`uninstall show`),
		"go":      words(`get install`),
		"cargo":   words(`add remove install`),
		"brew":    words(`install uninstall info upgrade`),
		"apt-get": words(`install remove`),
	}

	// alike are names of commands that have the options of another one.
	alike = map[string]string{
		"egrep": "grep", "fgrep": "grep", "zgrep": "grep", "ripgrep": "rg", "ack": "rg", "gsed": "sed",
		"gawk": "awk", "mawk": "awk", "nawk": "awk", "podman": "docker", "fdfind": "fd", "pnpm": "npm", "pip3": "pip",
		"apt": "apt-get",
	}
)

func words(text string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		all[word] = true
	}
	return all
}

var (
	// fileOption matches options of remote subcommands that take a file.
	fileOption = regexp.MustCompile(`^-[fFkircT]$|^--?[a-z-]*(file|cert|key$|input|template|requirement)`)

	// localPath matches operands that are paths even where operands name what is elsewhere.
	localPath = regexp.MustCompile(`^(~|/|\.\.?(/|$))`)

	// otherHost matches addresses of repositories, such as git@a.example:team/app.git.
	otherHost = regexp.MustCompile(`^[\w.-]+@[\w.-]+:`)

	// fileAddress matches what stands before the path of a file in an address.
	fileAddress = regexp.MustCompile(`(?i)fileb?://`)
)
