// Command etui is the agent gateway and its tools for the terminal.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // conditions can name time zones even if the system has no time zone data

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer panics.Log(nil, "heeding signals")
		<-signals
		stop()
		again := <-signals // a second one ends the program at once
		number, _ := again.(syscall.Signal)
		os.Exit(128 + int(number)) // as shells report it
	}()
	console := &terminal.Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Language: phrase.Locale(os.Getenv)}
	code := run(ctx, os.Args[1:], console)
	stop()
	os.Exit(code)
}
