package builtin

import (
	"fmt"
	"time"
)

// Clock tells the time. The zero value is the machine's clock.
type Clock struct {
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

type timeInput struct {
	// IANA time zone, such as Asia/Shanghai
	Zone string `json:"zone,omitempty"`
}

// getTime tells the current date and time.
//
//etui:tool groups=util risk=read
//etui:zh 查询当前日期和时间。
//etui:alias clock, 几点, 今天几号, what time is it, 星期几, what day is it, weekday
func (c *Clock) getTime(in timeInput) (string, error) {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	t := now()
	if in.Zone != "" {
		zone, err := time.LoadLocation(in.Zone)
		if err != nil {
			return "", fmt.Errorf("there is no time zone %q; names look like Europe/Berlin, Asia/Shanghai or UTC",
				in.Zone)
		}
		t = t.In(zone)
	}
	return t.Format("Monday 2006-01-02 15:04:05 MST (-07:00)"), nil
}
