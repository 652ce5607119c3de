package enrich

import (
	"fmt"
	"strings"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/model"
)

// Report is what etui tools enrich did, or would do.
type Report struct {
	Model    string `json:"model,omitempty"`
	File     string `json:"file"`
	Estimate Cost   `json:"estimate"`
	// Price is estimated: at the model's price in etui.yaml, else in dollars at that of its
	// provider. It is nil if neither is known.
	Price *float64 `json:"estimated_cost"`
	// Used is what it took; Dropped are texts about what no longer exists.
	Used    Cost     `json:"used"`
	Failed  []string `json:"failed"`
	Dropped int      `json:"dropped"`
}

// SetModel says which model writes, and at which price; zero means that it is unknown.
func (r *Report) SetModel(name string, price model.Price) {
	r.Model = name
	if price != (model.Price{}) {
		costs := (float64(r.Estimate.Input)*price.Input + float64(r.Estimate.Output)*price.Output) / 1e6
		r.Price = &costs
	}
}

// Forecast says what the work will cost, with the unit of the price.
func (r Report) Forecast(unit string) string {
	cost := r.Estimate
	said := fmt.Sprintf("%s to write about: about %d tokens to read and %d to write", printable.Count(cost.Tools, "tool"), cost.Input, cost.Output)
	switch {
	case r.Price != nil:
		said += fmt.Sprintf(", about %s%.2f with %s", unit, *r.Price, r.Model)
	case r.Model != "":
		said += fmt.Sprintf("; the price of %s is unknown; models[].price sets it", r.Model)
	}
	return said
}

// Text describes the work for people; file is how they know the file of texts.
func (r Report) Text(file string) string {
	var b strings.Builder
	if r.Estimate.Tools == 0 {
		b.WriteString("Nothing to write: there are texts already.\n")
	} else {
		fmt.Fprintf(&b, "Wrote about %s with %d tokens.\n", printable.Count(r.Used.Tools, "tool"), r.Used.Input+r.Used.Output)
	}
	if len(r.Failed) > 0 {
		fmt.Fprintf(&b, "Skipped: %s. Run the command again to retry.\n", printable.List(r.Failed))
	}
	if r.Dropped > 0 {
		fmt.Fprintf(&b, "Dropped the texts about %s that no longer exist.\n", printable.Count(r.Dropped, "tool"))
	}
	fmt.Fprintf(&b, "The texts are in %s. Edit what you like: your edits win.\n", file)
	return b.String()
}
