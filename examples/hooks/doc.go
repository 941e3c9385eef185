// Package hooks has an executable example for each row of docs/hooks.md: what plugins are written for, and
// how it looks with Plughook's four hooks. Its examples are its tests.
package hooks
