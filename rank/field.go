package rank

// field is a part of a definition's text. A word counts more in some fields than
// in others.
type field int

const (
	fieldName field = iota
	fieldAlias
	fieldDescription
	fieldTranslation
	fieldParameter
	fieldParameterText
	fieldGroup
	fieldExample
	fieldBody
	// The fields of [tool.Texts].
	fieldEnrichedAlias
	fieldEnrichedExample
	fields
)

// fieldNames are the names of the fields in explanations.
var fieldNames = [fields]string{
	fieldName: "name", fieldAlias: "alias", fieldDescription: "description", fieldTranslation: "translation",
	fieldParameter:     "parameter",
	fieldParameterText: "parameter_text", fieldGroup: "group", fieldExample: "example", fieldBody: "body",
	fieldEnrichedAlias: "alias (enriched)", fieldEnrichedExample: "example (enriched)",
}

// fieldLength is how much a field's length matters (0: not at all, 1: fully).
// The ranking is BM25F: S. Robertson and H. Zaragoza, "The Probabilistic
// Relevance Framework: BM25 and Beyond", 2009, section 3.6. [Weights] says how
// much a word counts in each field. The result is flat near these figures.
var fieldLength = [fields]float64{
	fieldName: 0.75, fieldAlias: 0.5, fieldDescription: 0.75, fieldTranslation: 0.75, fieldParameter: 0.5,
	fieldParameterText: 0.25, fieldGroup: 0, fieldExample: 0.5, fieldBody: 0.75,
	fieldEnrichedAlias: 0.5, fieldEnrichedExample: 0.5,
}
