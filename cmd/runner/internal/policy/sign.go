package policy

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/internal/wholefile"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

func (p *commands) signCommand() *cobra.Command {
	var key string
	var makeKey bool
	cmd := &cobra.Command{
		Use:   "sign --key KEY FILE…",
		Short: "Sign policies, so that a guardrail takes no others",
		Long: `Sign puts a signature at the end of each policy's file, as a comment, and prints the public
key. A guardrail with public_key: in the configuration takes only a policy that was signed with the key
that belongs to it: nothing that was changed, or cut off on its way, and, while it runs, nothing that was
signed before the policy in force. The signature also covers the files that the policy includes, and its
lockfile. Sign again after a change.

The key is an Ed25519 key in a PEM file (PKCS #8), as "openssl genpkey -algorithm ed25519" makes it. With
--new-key the file is made first.`,
		Example: `  runner policy sign --key policy.key --new-key policy.yaml
  runner policy sign --key policy.key policy.yaml`,
		Args: cli.Args(1, -1, "which policy? Name its file"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if key == "" {
				return exit.Usage.Errorf("sign needs --key: the file with the private key")
			}
			return p.sign(cmd.Context(), key, makeKey, files)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "the `file` with the private key")
	cmd.Flags().BoolVar(&makeKey, "new-key", false, "make the key, in a file that is not there yet")
	return cmd
}

func (p *commands) sign(ctx context.Context, keyFile string, makeKey bool, files []string) error {
	if makeKey {
		if err := newKey(keyFile); err != nil {
			return exit.Usage.As(err)
		}
	}
	key, err := readKey(ctx, keyFile)
	if err != nil {
		return exit.Usage.As(err)
	}
	for _, file := range files {
		data, err := input.ReadFile(ctx, file, maxPolicy)
		if err == nil {
			data, err = policy.Sign(file, data, key, time.Now())
		}
		if err == nil {
			err = wholefile.Write(file, data)
		}
		if err != nil {
			return exit.Usage.As(err)
		}
		p.Note("%s is signed", file)
	}
	_, err = fmt.Fprintf(p.Out, "public_key: %s\n", base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey)))
	return err
}

// newKey makes a file with a private key, which only its owner can read.
func newKey(name string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der}); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func readKey(ctx context.Context, name string) (ed25519.PrivateKey, error) {
	data, err := input.ReadFile(ctx, name, 64<<10)
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode(data); block != nil {
		if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := parsed.(ed25519.PrivateKey); ok {
				return key, nil
			}
		}
	}
	return nil, fmt.Errorf("%s has no Ed25519 private key in PEM; --new-key makes one", name)
}
