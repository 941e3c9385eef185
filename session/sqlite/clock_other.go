//go:build !linux

package sqlite

// clockID names no clock: leases are told by the wall clock.
func clockID() string { return "" }

func ticks() int64 { return wall() }
