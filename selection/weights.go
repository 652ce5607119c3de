package selection

import (
	"errors"
	"fmt"
)

// Weights say how much a word counts in each part of a tool's text, and what
// else goes into the ranking. The zero value is [DefaultWeights]. `etui tune`
// fits them to what was asked; the result is flat near the defaults.
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
	// Usage is how much the votes of [Usage] can add to a tool's score, as a
	// multiple of the question's best score by words.
	Usage float64 `json:"usage"`
}

// DefaultWeights are what the ranking uses when nothing else is said.
func DefaultWeights() Weights {
	return Weights{
		Name: 2, Alias: 1, Description: 0.5, Translation: 0.5, Parameter: 0.8, ParameterText: 0.5,
		Group: 2, Example: 0.5, Body: 0.1, Usage: 1,
	}
}

// fields returns the weights of the fields.
func (w Weights) fields() *[fields]float64 {
	return &[fields]float64{
		fieldName: w.Name, fieldAlias: w.Alias, fieldDescription: w.Description, fieldTranslation: w.Translation,
		fieldParameter: w.Parameter, fieldParameterText: w.ParameterText, fieldGroup: w.Group, fieldExample: w.Example, fieldBody: w.Body,
	}
}

// Check says what is wrong with weights that come from outside: they are numbers
// from 0 to 100, and some part of the text counts.
func (w Weights) Check() error {
	text := 0.0
	for _, weight := range w.fields() {
		text += weight
	}
	for _, weight := range append(w.fields()[:], w.Usage) {
		if !(weight >= 0 && weight <= 100) {
			return fmt.Errorf("the weight %v is not between 0 and 100", weight)
		}
	}
	if text == 0 {
		return errors.New("no part of a tool's text has a weight")
	}
	return nil
}
