// Package plughook is the root of a plugin-driven runner for LLM agents. It holds no code. README.md has
// the picture of the house: which packages there are, and which may import which.
package plughook
