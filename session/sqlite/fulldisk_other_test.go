//go:build unix && !linux

package sqlite

import "testing"

func TestFullDisk(t *testing.T) { t.Skip("it mounts a disk as Linux does") }
