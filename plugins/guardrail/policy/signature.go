package policy

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// A signed policy ends with a comment: this, the time, and an Ed25519 signature in base64. It covers the time, the
// policy's file before the comment, the files that it includes, and the lockfile with its pins.
const signatureMark = "# plughook-signature: "

// ed25519ph says that what is signed is a digest, and of what.
var ed25519ph = &ed25519.Options{Hash: crypto.SHA512, Context: "plughook policy"}

// signature is what stands at the end of a signed policy, and what it has to cover.
type signature struct {
	time   string // "" if the policy is not signed
	value  string
	digest [sha512.Size]byte
}

// signatureOf takes the signature from the content of a policy's files, its own first.
func signatureOf(contents [][]byte) (s signature) {
	own, line := withoutSignature(contents[0])
	s.time, s.value, _ = strings.Cut(line, " ")
	s.digest = signedDigest(s.time, append([][]byte{own}, contents[1:]...))
	return s
}

// withoutSignature returns a file without the signature at its end, and what stands behind its mark.
func withoutSignature(data []byte) (own []byte, line string) {
	i := bytes.LastIndex(data, []byte("\n"+signatureMark))
	if i < 0 {
		return data, ""
	}
	line = string(data[i+1+len(signatureMark):])
	if !strings.HasSuffix(line, "\n") || strings.Count(line, "\n") > 1 {
		return data, "" // it is not the last line, or not all of it
	}
	return data[:i+1], strings.TrimSuffix(line, "\n")
}

func signedDigest(at string, contents [][]byte) (digest [sha512.Size]byte) {
	sum := sha512.New()
	fmt.Fprintf(sum, "%s\n", at)
	for _, data := range contents {
		fmt.Fprintf(sum, "%d\n", len(data))
		sum.Write(data)
	}
	sum.Sum(digest[:0])
	return digest
}

// Sign returns the content of a policy's own file with a signature at its end, in place of one that is there. The policy
// has to be valid: Sign reads it as Parse does.
func Sign(name string, data []byte, key ed25519.PrivateKey, now time.Time) ([]byte, error) {
	own, _ := withoutSignature(data)
	own = append(bytes.TrimRight(own, "\n"), '\n')
	at := now.UTC().Format(time.RFC3339)
	// With the time and without a signature, the policy has the digest that is to be signed.
	p, err := Parse(name, append(bytes.Clone(own), signatureMark+at+"\n"...))
	if err != nil {
		return nil, err
	}
	value, err := key.Sign(nil, p.signature.digest[:], ed25519ph)
	if err != nil {
		return nil, fmt.Errorf("guardrail: the key cannot sign: %w", err)
	}
	return fmt.Appendf(own, "%s%s %s\n", signatureMark, at, base64.StdEncoding.EncodeToString(value)), nil
}

// CheckSignature returns an error unless the policy was signed with the private key that belongs to a public one: 32
// bytes in base64, as "runner policy sign" prints it.
func (p *Policy) CheckSignature(publicKey string) error {
	key, err := base64.StdEncoding.DecodeString(publicKey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return fmt.Errorf("guardrail: public_key: %q is no Ed25519 key, 32 bytes in base64; \"runner policy sign\" prints it", publicKey)
	}
	value, err := base64.StdEncoding.DecodeString(p.signature.value)
	switch {
	case p.signature.time == "":
		return fmt.Errorf("guardrail: %s is not signed, or is cut off: its last line is no signature; \"runner policy sign\" signs it", p.name)
	case err != nil || ed25519.VerifyWithOptions(key, p.signature.digest[:], value, ed25519ph) != nil:
		return fmt.Errorf("guardrail: %s has a signature that is not of public_key, or was changed after it was signed", p.name)
	}
	return nil
}

// Signed is when the policy was signed, by its own words; the zero time if it is not signed. CheckSignature says whether
// that is true.
func (p *Policy) Signed() time.Time {
	at, _ := time.Parse(time.RFC3339, p.signature.time)
	return at
}
