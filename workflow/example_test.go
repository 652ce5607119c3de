package workflow_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/workflow"
)

// A program of its own runs a workflow of two phases. The model says too early that it has
// finished; the host does not believe it.
func Example() {
	count := tool.Func(tool.Definition{Name: "count", Description: "Count the words", Risk: tool.Read}, func(context.Context, struct{}) (chat.Result, error) {
		return tool.Text(`{"words": 1200}`), nil
	})
	m := fake.New(
		fake.Step{Calls: []chat.Call{fake.Call("1", "finish_phase", `{"summary":"about a thousand"}`)}},
		fake.Step{Calls: []chat.Call{fake.Call("2", "count", `{}`)}},
		fake.Step{Text: "There are 1200 words."},
	)
	g, err := etui.New(m, etui.Config{
		Tools: []tool.Tool{count}, Skills: []catalog.Skill{{Name: "counting", Tools: []string{"count"}}},
		Workflows: []workflow.Workflow{{Name: "words", Phases: []workflow.Phase{
			{Name: "count", Skill: "counting", Next: []workflow.Next{{When: "results.count.data.words > 0", To: "report"}}},
			{Name: "report", Next: []workflow.Next{{When: `reply != ""`, To: workflow.Done}}},
		}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	for e, err := range g.Send(context.Background(), engine.Message{Workflow: "words", Text: "How long is it?"}) {
		switch {
		case err != nil:
			fmt.Println(err)
		case e.Phase != nil && e.Phase.Outcome == "":
			fmt.Printf("phase %s, round %d\n", e.Phase.Name, e.Phase.Round)
		case e.Result != nil && e.Result.Failed:
			fmt.Println("refused:", e.Result.Text[:35])
		case e.Done != nil:
			fmt.Printf("%s: %s\n", e.Done.Flow.Outcome, e.Done.Reply)
		}
	}
	// Output:
	// phase count, round 0
	// refused: The phase count is not finished. It
	// phase count, round 1
	// phase report, round 0
	// done: There are 1200 words.
}
