package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/plughook/plughook/plugins/audit"
)

// byHand is the program without a runner: 0 if all holds, 1 if not, 2 if it was called wrongly.
func byHand(args []string, in io.Reader, out, errs io.Writer) int {
	flags := flag.NewFlagSet("audit "+args[0], flag.ContinueOnError)
	flags.SetOutput(errs)
	keyFile := flags.String("key", "", "the plugin's key_file")
	if flags.Parse(args[1:]) != nil {
		return 2
	}
	key, err := readKey(*keyFile)
	switch {
	case err != nil:
	case args[0] == "verify" && flags.NArg() > 0:
		err = verify(flags.Args(), key, out)
	case args[0] == "fingerprint" && flags.NArg() == 0 && key != nil:
		err = fingerprint(in, key, out)
	default:
		err = errors.New("usage: audit verify [-key FILE] FILE…\n       audit fingerprint -key FILE < TEXT")
		fmt.Fprintln(errs, err)
		return 2
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

// readKey returns the key in a file as the plugin reads it, nil without one.
func readKey(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	return bytes.TrimRight(data, "\r\n"), err
}

// verify reads the files as one and prints what holds.
func verify(names []string, key []byte, out io.Writer) error {
	var files []io.Reader
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close() // it is only read
		files = append(files, f)
	}
	c, err := audit.Verify(io.MultiReader(files...), key)
	fmt.Fprintf(out, "lines %d to %d hold, %d repairs, last hash %s\n", c.First, c.Last, c.Repairs, c.Hash)
	return err
}

func fingerprint(in io.Reader, key []byte, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	print, err := audit.Fingerprint(key, string(text))
	if err == nil {
		fmt.Fprintln(out, print)
	}
	return err
}
