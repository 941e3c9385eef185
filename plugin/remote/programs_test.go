//go:build unix

package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/remote/serve"
)

func init() { maps.Copy(testplugin.Programs, programs) }

// programs are what this test binary can be instead of tests, beside those of package testplugin.
var programs = map[string]func(){
	// asked answers questions about itself.
	"asked": func() { serve.Plugin(testplugin.Ask(answerText)) },
	"noise only": func() {
		for {
			fmt.Println(strings.Repeat("noise ", 100))
		}
	},
	"hangs":            func() { select {} },
	"closes stdout":    func() { os.Stdout.Close(); select {} },
	"no handshake":     func() { fmt.Println("1|1|unix"); select {} },
	"another version":  func() { fmt.Println("1|2|unix|/nowhere|grpc"); select {} },
	"another protocol": func() { fmt.Println("1|1|unix|/nowhere|netrpc"); select {} },
	"over tcp":         func() { fmt.Println("1|1|tcp|127.0.0.1:1|grpc"); select {} },
	"nobody listens":   func() { fmt.Println("1|1|unix|/nowhere|grpc"); select {} },
	"another listens":  func() { fmt.Println("1|1|unix|" + os.Args[3] + "|grpc"); select {} },
	"close fails": func() {
		p := testplugin.Ask(answerText)
		p.Close = func(context.Context) error { return errors.New("the disk is full") }
		serve.Plugin(p)
	},
	"closes": func() {
		p := testplugin.Ask(answerText)
		p.Close = func(context.Context) error { return os.WriteFile(os.Args[3], []byte("closed"), 0o600) }
		serve.Plugin(p)
	},
}

// answerText is what the program "asked" does.
func answerText(ctx context.Context, text string) (string, error) {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "say":
		return rest, nil
	case "env":
		return strings.Join(os.Environ(), "\n"), nil
	case "dial":
		c, err := net.DialTimeout("tcp", rest, time.Second)
		if err != nil {
			return "no: " + err.Error(), nil
		}
		return "yes", c.Close()
	case "connections":
		data, err := os.ReadFile("/proc/self/net/unix")
		return string(data), err
	case "open":
		f, err := os.OpenFile(rest, os.O_RDWR, 0)
		if err != nil {
			return "no: " + err.Error(), nil
		}
		return "yes", f.Close()
	case "read":
		data, err := os.ReadFile(rest)
		if err != nil {
			return "no: " + err.Error(), nil
		}
		return string(data), nil
	case "fill": // a file in a directory, until there is an error
		return fill(rest)
	case "use": // memory of a kind, and so many MiB of it
		kind, size, _ := strings.Cut(rest, " ")
		return use(kind, size)
	case "panic":
		panic(rest)
	case "crash":
		fmt.Fprintln(os.Stderr, "about to crash:", rest)
		go func() { panic(rest) }()
		<-ctx.Done()
		return "", ctx.Err()
	case "exit":
		os.Exit(7)
	case "hang":
		<-make(chan struct{})
	case "wait":
		<-ctx.Done()
		return "", context.Cause(ctx)
	case "large":
		n, err := strconv.Atoi(rest)
		return strings.Repeat("x", n), err
	case "child": // one that would outlive it, under a name of its own
		where, name, _ := strings.Cut(rest, " ")
		cmd := exec.Command("sleep", name)
		if where == "away" {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		}
		return "started", cmd.Start()
	case "flood":
		line := bytes.Repeat([]byte("flood "), 20000)
		for range 200 {
			os.Stderr.Write(append(line, '\n'))
			os.Stdout.Write([]byte("a line\n"))
		}
		return "flooded", nil
	case "print":
		fmt.Println("stdout: " + rest)
		fmt.Fprintln(os.Stderr, "WARN stderr: "+rest)
		fmt.Fprintln(os.Stderr, `{"level":"ERROR","msg":"json: `+rest+`","n":7}`)
		slog.Warn("slog: "+rest, "a", 1, slog.Group("g", "b", rest))
		log.Print("log: " + rest)
		return "printed", nil
	case "stdout":
		return "closed", os.Stdout.Close()
	case "namespace": // a child in a user namespace of its own
		cmd := exec.Command("true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		newUserNamespace(cmd.SysProcAttr)
		return fmt.Sprint(cmd.Run()), nil
	case "fds":
		entries, err := os.ReadDir("/proc/self/fd")
		var open []string
		for _, e := range entries {
			to, _ := os.Readlink("/proc/self/fd/" + e.Name())
			open = append(open, e.Name()+" "+to)
		}
		return strings.Join(open, "\n"), err
	case "status":
		data, err := os.ReadFile("/proc/self/status")
		return string(data), err
	case "limits":
		data, err := os.ReadFile("/proc/self/limits")
		return string(data), err
	}
	return "", fmt.Errorf("what is %q?", text)
}

// fill writes a file of up to 256 MiB, removes it, and returns how many MiB it could write.
func fill(path string) (string, error) {
	f, err := os.Create(path)
	if err != nil {
		return "no: " + err.Error(), nil
	}
	defer os.Remove(path)
	defer f.Close()
	written := 0
	for written < 256 {
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			break
		}
		written++
	}
	return strconv.Itoa(written), nil
}

// use uses memory, which it keeps.
func use(kind, size string) (string, error) {
	n, err := strconv.Atoi(size)
	if err != nil {
		return "", err
	}
	flags := syscall.MAP_ANON | syscall.MAP_PRIVATE
	if kind == "shared" {
		flags = syscall.MAP_ANON | syscall.MAP_SHARED
	}
	memory, err := syscall.Mmap(-1, 0, n<<20, syscall.PROT_READ|syscall.PROT_WRITE, flags)
	if err != nil {
		return "no: " + err.Error(), nil
	}
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	return "yes", nil
}
