package control_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/control"
)

// An operator disables a skill. The decision survives a restart: it is in a file.
func ExampleControl_Change() {
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "skills.json")

	table := tableOf(plain{"mail", "1.0"})
	c := control.New(file, table, control.Limits{}, nil)
	err = c.Change("mail", "ann", "it leaks addresses", func(d *skill.Decision) { d.State = skill.Disabled })
	if err != nil {
		log.Fatal(err)
	}

	restarted := tableOf(plain{"mail", "1.0"})
	control.New(file, restarted, control.Limits{}, nil)
	e, _ := restarted.Snapshot().Get("mail")
	fmt.Println(e.State, "-", e.Why)
	// Output: disabled - disabled by ann: it leaks addresses
}
