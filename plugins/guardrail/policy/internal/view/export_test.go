package view

// Raw is the text as a view of itself.
func Raw(text string) View { return itself(text) }

// Fold is how the normalised view shows a text.
func Fold(text string) string { return folded(text) }
