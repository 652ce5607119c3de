package rank

import (
	"errors"
	"fmt"
)

// Weights say how much a word counts in each field of a definition, and how much
// votes count. The zero value is [DefaultWeights]. `etui tune` fits them to past
// questions; the result is flat near the defaults.
type Weights struct {
	Name          float64 `json:"name"`
	Alias         float64 `json:"alias"`
	Description   float64 `json:"description"`
	Translation   float64 `json:"translation"`
	Parameter     float64 `json:"parameter"`
	ParameterText float64 `json:"parameter_text"`
	Group         float64 `json:"group"`
	Example       float64 `json:"example"`
	Body          float64 `json:"body"`
	// EnrichedAlias and EnrichedExample are the weights of [tool.Texts]. They were chosen
	// on five public sets and the demo; the result is flat near them.
	EnrichedAlias   float64 `json:"enriched_alias"`
	EnrichedExample float64 `json:"enriched_example"`
	// Votes is how much [Votes] can add to a score, as a multiple of the
	// question's best score by words.
	Votes float64 `json:"usage"`
}

// DefaultWeights returns the weights that the zero value means.
func DefaultWeights() Weights {
	return Weights{
		Name: 2, Alias: 1, Description: 0.5, Translation: 0.5, Parameter: 0.8, ParameterText: 0.5,
		Group: 2, Example: 0.5, Body: 0.1, EnrichedAlias: 0.5, EnrichedExample: 0.5, Votes: 1,
	}
}

// fields returns the weights of the fields.
func (w Weights) fields() *[fields]float64 {
	return &[fields]float64{
		fieldName: w.Name, fieldAlias: w.Alias, fieldDescription: w.Description, fieldTranslation: w.Translation,
		fieldParameter: w.Parameter, fieldParameterText: w.ParameterText, fieldGroup: w.Group, fieldExample: w.Example,
		fieldBody:          w.Body,
		fieldEnrichedAlias: w.EnrichedAlias, fieldEnrichedExample: w.EnrichedExample,
	}
}

// Check returns an error unless all weights are numbers from 0 to 100 and at
// least one field counts.
func (w Weights) Check() error {
	text := 0.0
	for _, weight := range w.fields() {
		text += weight
	}
	for _, weight := range append(w.fields()[:], w.Votes) {
		if !(weight >= 0 && weight <= 100) {
			return fmt.Errorf("the weight %v is not between 0 and 100", weight)
		}
	}
	if text == 0 {
		return errors.New("no part of a tool's text has a weight")
	}
	return nil
}
