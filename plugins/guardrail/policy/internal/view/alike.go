package view

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed alike.txt
var alike string

// lookalikes has, for a character that looks like an ASCII character, that ASCII character.
var lookalikes = sync.OnceValue(func() map[rune]string {
	m := make(map[rune]string, 640)
	for row := range strings.Lines(alike) {
		if strings.HasPrefix(row, "#") {
			continue
		}
		var ascii, like string
		if _, err := fmt.Sscanf(row, "%q %q", &ascii, &like); err != nil {
			panic(fmt.Sprintf("alike.txt: %q: %v", row, err))
		}
		for _, r := range like {
			m[r] = ascii
		}
	}
	return m
})
