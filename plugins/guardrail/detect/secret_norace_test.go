//go:build !race

package detect_test

const sampling = 1
