package builtin

import (
	"context"
	"fmt"
	"time"

	"github.com/etui-run/etui/tool"
)

func getTime(now func() time.Time) tool.Tool {
	type input struct {
		Zone string `json:"zone,omitempty"`
	}
	return tool.Func(definition("get_time", "Tell the current date and time.", "查询当前日期和时间。", tool.Read,
		`{"type":"object","properties":{"zone":{"type":"string","description":"IANA time zone, such as Asia/Shanghai"}}}`, "clock", "几点", "今天几号", "what time is it", "星期几"),
		func(_ context.Context, in input) (string, error) {
			t := now()
			if in.Zone != "" {
				zone, err := time.LoadLocation(in.Zone)
				if err != nil {
					return "", fmt.Errorf("there is no time zone %q; names look like Europe/Berlin, Asia/Shanghai or UTC", in.Zone)
				}
				t = t.In(zone)
			}
			return t.Format("Monday 2006-01-02 15:04:05 MST (-07:00)"), nil
		})
}
