package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/server/wire"
)

// Tasks answers with a list of all [schedule.Task], in the order in which they run next.
func (a *API) Tasks(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); ok {
		list, err := a.tasks.List(r.Context())
		wire.Answer(w, list, err)
	}
}

// AddTask adds a task, and answers with it.
func (a *API) AddTask(w http.ResponseWriter, r *http.Request) {
	var t schedule.Task
	if !wire.Read(w, r, &t) {
		return
	}
	t.Key = "" // that of its sender
	t, err := a.tasks.Add(r.Context(), t)
	wire.Answer(w, t, err)
}

// ChangeTask pauses, resumes or runs a task, and answers with it. The body is {}.
func (a *API) ChangeTask(w http.ResponseWriter, r *http.Request) {
	if !wire.Read(w, r, &struct{}{}) {
		return
	}
	id := r.PathValue("id")
	do, ok := map[string]func(context.Context) (schedule.Task, error){
		"pause":  func(ctx context.Context) (schedule.Task, error) { return a.tasks.Pause(ctx, id, true) },
		"resume": func(ctx context.Context) (schedule.Task, error) { return a.tasks.Pause(ctx, id, false) },
		"run":    func(ctx context.Context) (schedule.Task, error) { return a.tasks.Run(ctx, id) },
	}[r.PathValue("change")]
	if !ok {
		wire.Refuse(w, http.StatusNotFound,
			fmt.Sprintf("a task cannot %s; it can pause, resume and run", r.PathValue("change")))
		return
	}
	t, err := do(r.Context())
	wire.Answer(w, t, err)
}

// RemoveTask removes a task, and answers with it.
func (a *API) RemoveTask(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); ok {
		t, err := a.tasks.Remove(r.Context(), r.PathValue("id"))
		wire.Answer(w, t, err)
	}
}
