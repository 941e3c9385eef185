package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/config"
)

// What the server says how to talk to it is right with the settings that it has.
func TestHowToTalkToAServer(t *testing.T) {
	plain := config.Server{}
	require.Equal(t, `curl -N -d '{"message":"Hello","session":"1"}'`, example(plain))
	proxy := config.Server{UserHeader: "X-User"}
	proxy.Chat.Field = "orderItemUUID"
	require.Equal(t, `curl -N -H 'X-User: ada' -d '{"message":"Hello","orderItemUUID":"1"}'`,
		example(proxy))
	tokens := config.Server{Tokens: "tokens.yaml"}
	require.Equal(t,
		`curl -N -H "Authorization: Bearer $TOKEN" -d '{"message":"Hello","session":"1"}'`,
		example(tokens))
}
