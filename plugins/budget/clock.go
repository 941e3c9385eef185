package budget

import (
	"fmt"
	"strings"
	"time"
)

// A timeOfDay is what a clock on a wall shows, in a time zone.
type timeOfDay struct {
	hour, minute int
	zone         *time.Location
}

// parseTimeOfDay reads a text such as "00:00 Europe/Berlin".
func parseTimeOfDay(text string) (*timeOfDay, error) {
	clock, zone, ok := strings.Cut(text, " ")
	if !ok {
		return nil, fmt.Errorf("%q has no time zone; write both, such as 00:00 Europe/Berlin", text)
	}
	at, err := time.Parse("15:04", clock)
	if err != nil || len(clock) != len("15:04") {
		return nil, fmt.Errorf("%q is no time of day; write hours and minutes, from 00:00 to 23:59", clock)
	}
	// "Local" would differ from process to process, and they share the counts.
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return nil, fmt.Errorf("%q is no time zone that this system knows; "+
			"write one of the time zone database, such as Europe/Berlin or UTC", zone)
	}
	return &timeOfDay{hour: at.Hour(), minute: at.Minute(), zone: location}, nil
}

// next returns the first moment after now at which the clock shows the time.
func (c *timeOfDay) next(now time.Time) time.Time {
	year, month, day := now.In(c.zone).Date()
	for {
		if at := c.on(year, month, day); at.After(now) {
			return at
		}
		day++
	}
}

// on returns the moment of a date at which the clock shows the time. If it shows it twice, that is
// the first one; if it jumps over it, the moment of the jump.
func (c *timeOfDay) on(year int, month time.Month, day int) time.Time {
	at := time.Date(year, month, day, c.hour, c.minute, 0, 0, c.zone)
	begin, end := at.ZoneBounds() // when the clock was last put forward or back, and will be next

	// The clock jumps over the time: time.Date then answers one before or after the jump.
	wanted := time.Date(year, month, day, c.hour, c.minute, 0, 0, time.UTC)
	_, offset := at.Zone()
	shown := at.Add(time.Duration(offset) * time.Second)
	if shown.Before(wanted) {
		return end
	}
	if shown.After(wanted) {
		return begin
	}

	// The clock shows the time twice if it was put back over it: at may be the second.
	if !begin.IsZero() {
		_, before := begin.Add(-time.Nanosecond).Zone()
		earlier := at.Add(time.Duration(offset-before) * time.Second)
		if earlier.Before(begin) {
			return earlier
		}
	}
	return at
}
