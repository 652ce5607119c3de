// Chaos kills etui with SIGKILL at random moments while clients talk to it, and checks
// that nothing was lost: `make chaos`. docs/reliability.md says what is promised. With
// -replicas several etui share a PostgreSQL server, and are also paused with SIGSTOP; the
// server restarts, drops connections and becomes read-only. In both sizes the disk becomes full,
// if this user may mount one.
//
// Clients send numbered messages with idempotency keys, several conversations at once, and
// send a message again until it is answered. The model, in this process, answers a message
// by its number, sometimes after a call of a tool that must not run twice.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
	"time"
)

func main() {
	log.SetFlags(0)
	etui := flag.String("etui", "bin/etui", "the program to kill")
	kills := flag.Int("kills", 300, "how often it is killed")
	clients := flag.Int("clients", 6, "how many conversations go on at once")
	replicas := flag.Int("replicas", 0, "how many etui share a PostgreSQL; 0: one with SQLite")
	flag.Parse()
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		log.Fatal(err)
	}
	if *etui, err = filepath.Abs(*etui); err != nil { // it runs in a folder of its own
		log.Fatal(err)
	}
	began := time.Now()
	r, err := run(config{etui: *etui, dir: dir, kills: *kills, clients: *clients, replicas: *replicas})
	if err != nil {
		log.Fatalf("chaos: %v; the workspace is %s", err, dir)
	}
	log.Printf("%s in %s\n", r, time.Since(began).Round(time.Second))
	if wrong := r.wrong(); len(wrong) > 0 {
		for _, w := range wrong {
			log.Print(w)
		}
		log.Fatalf("chaos: %d promises were broken; the workspace is %s", len(wrong), dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		log.Fatal(err)
	}
}
