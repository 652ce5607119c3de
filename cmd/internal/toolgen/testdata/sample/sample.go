// Package sample has a tool of every form.
package sample

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// Unit is how a temperature is measured.
type Unit string

// The units.
const (
	Celsius    Unit = "C"
	Fahrenheit Unit = "F"
)

// Place is where something is.
type Place struct {
	// Latitude in degrees.
	Latitude  float64 `json:"lat" minimum:"-90" maximum:"90"`
	Longitude float64 `json:"lon"` // degrees, east is positive
}

// Forecast asks for the weather.
type Forecast struct {
	// City is the name of the city, in any language.
	City string `json:"city" minLength:"1" example:"Rome"`
	// Days to look ahead.
	Days int  `json:"days" default:"3" minimum:"1" maximum:"14"`
	Unit Unit `json:"unit,omitempty"`
	// Near, when given, is looked at in the place of the city.
	Near  *Place   `json:"near"`
	Wants []string `json:"wants,omitempty" enum:"rain,wind" maxItems:"2"`
	Paging
	Extra json.RawMessage `json:"extra,omitempty"`
	Since time.Time       `json:"since,omitzero"`
	Wait  time.Duration   `json:"wait,omitempty"`
	Tags  map[string]int  `json:"tags,omitempty"`
	Grid  [][]float32     `json:"grid,omitempty"`
	Pair  [2]bool         `json:"pair,omitempty"`
	Blob  []byte          `json:"blob,omitempty"`
	inner int
}

// Paging is the same for all.
type Paging struct {
	Limit uint8 `json:"limit,omitempty"`
}

// Weather is the answer.
type Weather struct {
	Input Forecast `json:"input"`
	Note  string   `json:"note,omitempty"`
	Any   any      `json:"any"`
}

// Service has methods that are tools.
type Service struct{ Name string }

// forecast tells the weather of the coming days.
//
//etui:tool groups=weather,read risk=read version=2
//etui:zh 查询未来几天的天气。
//etui:alias weather report, 天气预报
//etui:example will it rain in Rome tomorrow?
func (s *Service) forecast(_ context.Context, in Forecast) (*Weather, error) {
	in.inner = 0
	return &Weather{Input: in, Note: s.Name}, nil
}

// Greet says hello.
//
//etui:tool name=say_hello groups=social risk=read
func Greet(in *struct1) (string, error) {
	if in.Who == "" {
		return "", errors.New("nobody is there")
	}
	return fmt.Sprintf("Hello, %s!", in.Who), nil
}

type struct1 struct {
	Who string `json:"who" required:"false"`
}

// forgetAll forgets everything.
//
//etui:tool risk=destructive replay=safe
func forgetAll(context.Context) error { return nil }

// shows shows a picture.
//
//etui:tool risk=read groups=weather
func showMap(_ context.Context, in Place) (chat.Result, error) {
	return tool.Text(fmt.Sprint(in.Latitude)), nil
}

// readPage reads a page of a file.
//
//etui:tool risk=read
func readPage(
	_ context.Context,
	path string, // the path of the file
	// firstLine is where the page begins.
	firstLine int, lines *int, // how many lines; 40 when it is left out
	unit Unit,
) (string, error) {
	if lines == nil {
		return fmt.Sprint(path, firstLine, unit), nil
	}
	return fmt.Sprint(path, firstLine, *lines, unit), nil
}

// countWords counts the words of a text.
//
//etui:tool risk=read
func countWords(text string /* the text */) (int, error) { return len(strings.Fields(text)), nil }

type (
	// ringBell rings a bell; the program does it itself.
	//
	//etui:tool groups=social risk=write
	ringBell struct {
		Times int               `json:"times" default:"1" minimum:"1"`
		Notes map[string]any    `json:"notes,omitempty"` // anything
		Chime [][]time.Duration `json:"chime,omitempty"`
	}
)

// Rings says how often ring_bell is to ring.
func Rings(args json.RawMessage) (int, error) {
	in, err := readRingBell(args)
	return in.Times, err
}

// helper is no tool.
func helper() {}

var _ = helper
