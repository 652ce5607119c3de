package enrich

import (
	"strings"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
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
func (r Report) Forecast(lang, unit string) string {
	cost := r.Estimate
	said := phrase.In(lang, "%s to write about: about %d tokens to read and %d to write",
		phrase.Count(lang, cost.Tools, "tool"), cost.Input, cost.Output)
	switch {
	case r.Price != nil:
		said += phrase.In(lang, ", about %s%.2f with %s", unit, *r.Price, r.Model)
	case r.Model != "":
		said += phrase.In(lang, "; the price of %s is unknown; models[].price sets it", r.Model)
	}
	return said
}

// Text describes the work for people; file is how they know the file of texts.
func (r Report) Text(lang, file string) string {
	var b strings.Builder
	if r.Estimate.Tools == 0 {
		phrase.Fprintf(&b, lang, "Nothing to write: there are texts already.\n")
	} else {
		phrase.Fprintf(&b, lang, "Wrote about %s with %d tokens.\n", phrase.Count(lang, r.Used.Tools, "tool"),
			r.Used.Input+r.Used.Output)
	}
	if len(r.Failed) > 0 {
		phrase.Fprintf(&b, lang, "Skipped: %s. Run the command again to retry.\n", phrase.List(lang, r.Failed, 10))
	}
	if r.Dropped > 0 {
		phrase.Fprintf(&b, lang, "Dropped the texts about %s that no longer exist.\n",
			phrase.Count(lang, r.Dropped, "tool"))
	}
	phrase.Fprintf(&b, lang, "The texts are in %s. Edit what you like: your edits win.\n", file)
	return b.String()
}
