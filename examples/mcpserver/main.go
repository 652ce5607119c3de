// Command mcpserver is a small server of the Model Context Protocol: it counts
// working days, which language models do badly. It serves on its standard input
// and output, or over HTTP with -http 127.0.0.1:8082.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	address := flag.String("http", "", "serve over HTTP at this address, under /mcp")
	flag.Parse()
	if err := run(context.Background(), *address); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address string) error {
	if address == "" {
		return newServer().Run(ctx, &mcp.StdioTransport{})
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() }, nil))
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "workdays", Version: "1.0.0"}, nil)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "work_days", Description: "Count the working days from one date to another, both included: Monday to Friday without the given holidays. 计算两个日期之间的工作日。", Annotations: readOnly}, workDays)
	mcp.AddTool(s, &mcp.Tool{Name: "add_work_days", Description: "Tell which date is so many working days after (or before) a date. 某日期之后第几个工作日是哪天。", Annotations: readOnly}, addWorkDays)
	mcp.AddTool(s, &mcp.Tool{Name: "week_of", Description: "Tell the weekday and the ISO calendar week of a date. 某日期是星期几、第几周。", Annotations: readOnly}, weekOf)
	return s
}

// mostDays is how far a question may reach.
const mostDays = 366 * 50

type spanIn struct {
	From     string   `json:"from" jsonschema:"first day, YYYY-MM-DD"`
	To       string   `json:"to" jsonschema:"last day, YYYY-MM-DD"`
	Holidays []string `json:"holidays,omitempty" jsonschema:"days off, YYYY-MM-DD"`
}

type spanOut struct {
	WorkDays int `json:"work_days"`
	Days     int `json:"days"`
}

func workDays(_ context.Context, _ *mcp.CallToolRequest, in spanIn) (*mcp.CallToolResult, spanOut, error) {
	from, to, err := dates(in.From, in.To)
	if err != nil {
		return nil, spanOut{}, err
	}
	var out spanOut
	for day := from; !day.After(to); day = day.AddDate(0, 0, 1) {
		if out.Days++; out.Days > mostDays {
			return nil, spanOut{}, errors.New("the dates are more than 50 years apart")
		}
		if works(day, in.Holidays) {
			out.WorkDays++
		}
	}
	return nil, out, nil
}

type addIn struct {
	From     string   `json:"from" jsonschema:"the day to count from, YYYY-MM-DD"`
	WorkDays int      `json:"work_days" jsonschema:"how many; negative counts back"`
	Holidays []string `json:"holidays,omitempty" jsonschema:"days off, YYYY-MM-DD"`
}

type dayOut struct {
	Date    string `json:"date"`
	Weekday string `json:"weekday"`
	Week    string `json:"week"`
}

func addWorkDays(_ context.Context, _ *mcp.CallToolRequest, in addIn) (*mcp.CallToolResult, dayOut, error) {
	day, _, err := dates(in.From, in.From)
	if err != nil {
		return nil, dayOut{}, err
	}
	step, left := 1, in.WorkDays
	if left < 0 {
		step, left = -1, -left
	}
	for days := 0; left > 0; days++ {
		if days > mostDays {
			return nil, dayOut{}, errors.New("that is more than 50 years away")
		}
		if day = day.AddDate(0, 0, step); works(day, in.Holidays) {
			left--
		}
	}
	return nil, describe(day), nil
}

type dateIn struct {
	Date string `json:"date" jsonschema:"YYYY-MM-DD"`
}

func weekOf(_ context.Context, _ *mcp.CallToolRequest, in dateIn) (*mcp.CallToolResult, dayOut, error) {
	day, _, err := dates(in.Date, in.Date)
	return nil, describe(day), err
}

func dates(from, to string) (a, b time.Time, err error) {
	if a, err = time.Parse(time.DateOnly, from); err == nil {
		b, err = time.Parse(time.DateOnly, to)
	}
	if err == nil && b.Before(a) {
		err = fmt.Errorf("%s is before %s", to, from)
	}
	return a, b, err
}

func works(day time.Time, holidays []string) bool {
	return day.Weekday() != time.Saturday && day.Weekday() != time.Sunday && !slices.Contains(holidays, day.Format(time.DateOnly))
}

func describe(day time.Time) dayOut {
	year, week := day.ISOWeek()
	return dayOut{day.Format(time.DateOnly), day.Weekday().String(), fmt.Sprintf("%d-W%02d", year, week)}
}
