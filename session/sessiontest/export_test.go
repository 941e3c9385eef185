package sessiontest

// FailAtOnce has a case fail at its first attempt, also if a lease may have run out.
func FailAtOnce() { attempts = 1 }
