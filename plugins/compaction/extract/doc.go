// Package extract condenses the older part of a session without a model: the lines that tell most, and a
// ledger of exact values that later calls may need.
//
// It is incremental. A State is what one compaction leaves to the next; Add takes in what the next one
// covers, and Text writes what stands for all of it within a budget. The same input gives the same text.
package extract
