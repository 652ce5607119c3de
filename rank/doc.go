// Package rank is a search engine for tools: it scores every definition of a
// list against a question and says which words made the score.
//
// An [Index] is built once for a list of definitions. [Index.Rank] reads a
// [Query] and returns a [Ranking]: a score for each definition by its position
// in the list. The score comes from the words of the definition's fields
// (BM25F), from words with the same meaning, from translations between Chinese
// and English, from words that a misspelt one may stand for, and from words with
// the same letters. Votes of past questions
// ([Votes]) and vectors ([Vectors]) can add to it.
//
// An [Indexer] builds one index after the other and reads only the definitions
// that changed.
//
// Ranking does no I/O, reads no clock and depends on nothing but the index and
// the query: the same input gives the same scores, to the last bit. The package
// knows neither catalogs nor callers; [Query.Admitted] says which definitions
// may influence a ranking.
package rank
