//go:build unix

package remote

import "testing"

func TestMain(m *testing.M) { Main(m) }
