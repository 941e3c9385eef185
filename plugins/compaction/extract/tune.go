package extract

import (
	"os"
	"strconv"
)

var tuned = map[string]float64{}

func tune(name string, v float64) float64 {
	if x, ok := tuned[name]; ok {
		return x
	}
	if t := os.Getenv("T_" + name); t != "" {
		v, _ = strconv.ParseFloat(t, 64)
	}
	tuned[name] = v
	return v
}
