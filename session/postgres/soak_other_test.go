//go:build !unix

package postgres_test

func worker() {}
