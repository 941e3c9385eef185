package guardrail_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// A guardrail with a public key puts only signed policies in force: none that was cut off or changed, of another key,
// or that was signed earlier. Each decision says when its policy was signed.
func TestASignedPolicy(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	_, other, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	sign := func(key ed25519.PrivateKey, bird string, at time.Time) string {
		data, err := policy.Sign("p.yaml", []byte("rules:\n  - {id: a, detect: {words: ["+bird+"]}, action: redact}\n"), key, at)
		require.NoError(t, err)
		return string(data)
	}
	first := sign(private, "heron", now)
	again, err := policy.Sign("p.yaml", []byte(first), private, now)
	require.NoError(t, err)
	require.Equal(t, first, string(again), "one signature takes the place of another")

	dir := t.TempDir()
	file := filepath.Join(dir, "p.yaml")
	put := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	key := base64.StdEncoding.EncodeToString(public)
	put(first)
	decisions := filepath.Join(dir, "decisions.jsonl")
	config := guardrail.Config{File: file, Reload: true, PublicKey: key, Decisions: decisions}
	s := stage(t, config, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
	run := func() string { return s.run("a heron, an egret")[0] }
	require.Equal(t, "user: a [WORD], an egret", run())
	second := sign(private, "egret", now.Add(time.Hour))
	for what, text := range map[string]string{
		"no signature":  strings.Split(second, "#")[0],
		"cut off":       strings.TrimSuffix(second, "\n"),
		"changed":       strings.Replace(second, "egret", "canary", 1),
		"something new": second + "  - {id: b, detect: {words: [a]}, action: redact}\n",
		"another time":  strings.Replace(second, "T13", "T14", 1),
		"another key":   sign(other, "egret", now.Add(time.Hour)),
		"signed before": sign(private, "egret", now.Add(-time.Hour)),
	} {
		put(text)
		require.Equal(t, "user: a [WORD], an egret", run(), what)
	}
	put(second)
	require.Equal(t, "user: a heron, an [WORD]", run())
	log, err := os.ReadFile(decisions)
	require.NoError(t, err)
	require.Contains(t, string(log), `"signed":"2026-11-28T13:00:00Z"`)

	// It does not begin without a signature.
	put(sign(other, "heron", now))
	_, err = guardrail.New(config)
	require.ErrorContains(t, err, "has a signature that is not of public_key")
	config.PublicKey = "x"
	_, err = guardrail.New(config)
	require.ErrorContains(t, err, `"x" is no Ed25519 key`)
}
