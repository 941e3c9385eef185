package session_test

import (
	"testing"

	"github.com/plughook/plughook/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
