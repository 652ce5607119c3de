// Package subschema looks into JSON Schemas: how large one is with its references written out, how
// much work it causes, and which of its parts describe a part of a value.
package subschema
