package rank

import "slices"

const (
	// floor is the share of the best score below which a definition is noise.
	floor = 0.15
	// least is a share, too, of what a word counts that no definition has: a question gets
	// nothing when no definition reaches it. It must also reach leastOne of what a word
	// counts that one definition has, unless it answers the assistant: an answer continues
	// a request, whatever its words are.
	least, leastOne = 0.1, 0.15
	// groupShare is the share of the best score in its group that a definition
	// gains: a question for one tool of a server often needs another one, too.
	groupShare = 0.3
	// pastShare is the share of the question's best score by its own words that
	// the conversation before may add when those words are clear, and answerShare is
	// the share for an answer to the assistant.
	pastShare, answerShare = 0.4, 1.5
	// materialShare is the same for what came with the request, whose words are clear where one
	// fits a little: from a quarter of what a word counts that no definition has.
	materialShare, materialClear = 0.1, 4
	// sentenceShare is the share of the question's best score that the best
	// definition for one of its sentences gains, and others in proportion.
	sentenceShare = 0.5
	// leastSentence is the share of the question below which a sentence asks for
	// nothing.
	leastSentence = 0.03
)

// unknown is what a word counts that no definition has: the absolute measure of
// a score.
func (x *Index) unknown() float32 { return float32(inverseFrequency(0, x.size)) }

// score scores each document. Documents that are not admitted are scored too but
// do not influence the others; a nil admitted admits all.
func (x *Index) score(q question, admitted []bool, scores []float32, s *scratch) {
	x.add(&q, q.terms, own, scores, s)
	byOwn := highest(scores, admitted)
	x.scorePart(q, material, materialShare, materialClear, admitted, scores, s)
	x.scorePart(q, earlier, pastShare+q.lean*(answerShare-pastShare), 1, admitted, scores, s)
	best := highest(scores, admitted)
	if best == 0 {
		return
	}
	x.scoreLikeness(q.narrow*(1-q.lean), byOwn, admitted, scores, s)
	best = highest(scores, admitted)
	x.scoreGroups(scores, admitted, floor*best, s.groups)
	if len(q.sentences) > 1 || q.inquiry != nil {
		x.scoreSentences(&q, admitted, scores, s)
	}
}

// scorePart adds what the material says, or the conversation before: at most a share of the best
// score so far when the question's own words are clear. It counts more when they say less: "and in
// Rome?" continues what was asked before, "book a flight to Rome" does not.
func (x *Index) scorePart(asked question, which part, share, sharp float32, admitted []bool, scores []float32,
	s *scratch) {
	terms, added := asked.terms, s.total
	if !slices.ContainsFunc(terms, func(q queryTerm) bool { return q.part == which }) {
		return
	}
	clear(added)
	x.add(&asked, terms, which, added, s)
	best, most := highest(scores, admitted), highest(added, admitted)
	scale := float32(0) // what no admitted definition has adds nothing to the others either
	if most > 0 {
		clarity := min(1, sharp*best/x.unknown())
		scale = 1 - clarity + clarity*min(1, share*best/most)
	}
	for i, score := range added {
		scores[i] += scale * score
	}
	for i := range terms {
		if terms[i].part == which {
			terms[i].weight *= scale
		}
	}
}

// add adds to the scores what the terms of one part say. The forms of a word follow each
// other.
func (x *Index) add(asked *question, terms []queryTerm, which part, scores []float32, s *scratch) {
	loose := false
	for i, n := 0, 0; i < len(terms); i += n {
		q := terms[i]
		n = forms(terms[i:])
		switch {
		case q.part != which:
		case n > 1:
			x.words.addForms(terms[i:i+n], 1, scores, s.strongest)
			x.examples.addForms(terms[i:i+n], asked.examples, scores, s.strongest)
		case q.loose:
			loose = true
		default:
			for _, p := range x.words.of(q.term) {
				scores[p.doc] += p.impact * q.weight
			}
			weight := q.weight * asked.examples
			for _, p := range x.examples.of(q.term) {
				scores[p.doc] += p.impact * weight
			}
		}
	}
	if loose {
		x.addLoose(terms, which, scores)
	}
}

// addLoose adds what loose terms say about definitions that have a score.
func (x *Index) addLoose(terms []queryTerm, which part, scores []float32) {
	for _, q := range terms {
		if q.part != which || !q.loose {
			continue
		}
		for _, p := range x.words.of(q.term) {
			if scores[p.doc] > 0 {
				scores[p.doc] += p.impact * q.weight
			}
		}
	}
}

// forms returns how many of the first terms are forms of one word.
func forms(terms []queryTerm) int {
	n := 1
	for terms[0].word > 0 && n < len(terms) && terms[n].word == terms[0].word && terms[n].part == terms[0].part {
		n++
	}
	return n
}

// addForms adds to each score what the strongest of the forms of a word says, and a share of
// the others.
func (l *lists) addForms(forms []queryTerm, share float32, scores, strongest []float32) {
	if l.start == nil {
		return
	}
	for _, q := range forms {
		for _, p := range l.of(q.term) {
			impact := p.impact * q.weight * share
			scores[p.doc] += otherForms * impact
			if impact > strongest[p.doc] {
				scores[p.doc] += (1 - otherForms) * (impact - strongest[p.doc])
				strongest[p.doc] = impact
			}
		}
	}
	for _, q := range forms {
		for _, p := range l.of(q.term) {
			strongest[p.doc] = 0
		}
	}
}

// highest returns the best admitted score.
func highest(scores []float32, admitted []bool) float32 {
	var best float32
	for i, score := range scores {
		if score > best && (admitted == nil || admitted[i]) {
			best = score
		}
	}
	return best
}

// scoreGroups adds a share of the best score in each group to the others of the
// group that are not noise.
func (x *Index) scoreGroups(scores []float32, admitted []bool, least float32, best []float32) {
	if x.groups == nil {
		return
	}
	clear(best)
	for i, score := range scores {
		if score > best[x.groups[i]] && (admitted == nil || admitted[i]) {
			best[x.groups[i]] = score
		}
	}
	for i, score := range scores {
		if score >= least {
			scores[i] += groupShare * best[x.groups[i]]
		}
	}
}

// scoreSentences adds to the definitions that fit a sentence best, so that a
// request that needs several tools gets them all. The question of the assistant that is
// answered is one more sentence, as far as it is clear: it asks for what a tool needs,
// in the words of that tool.
func (x *Index) scoreSentences(q *question, admitted []bool, scores []float32, s *scratch) {
	best := highest(scores, admitted)
	var all float32
	for _, terms := range q.sentences {
		all += x.mass(terms)
	}
	clear(s.share)
	for _, terms := range q.sentences {
		if x.mass(terms) >= leastSentence*all {
			x.shareSentence(q, terms, 0, admitted, s)
		}
	}
	if q.inquiry != nil {
		x.shareSentence(q, q.inquiry, x.unknown(), admitted, s)
	}
	for i, share := range s.share {
		scores[i] += sentenceShare * best * share
	}
}

// shareSentence raises the share of each definition to how well it fits a sentence
// compared with the one that fits best, or with least if that is more.
func (x *Index) shareSentence(q *question, terms []queryTerm, least float32, admitted []bool, s *scratch) {
	clear(s.total)
	x.add(q, terms, own, s.total, s)
	most := highest(s.total, admitted)
	if most == 0 {
		return
	}
	most = max(most, least)
	for i, score := range s.total {
		if score > 0 {
			s.share[i] = max(s.share[i], min(score/most, 1))
		}
	}
}

// mass is how much terms say at most.
func (x *Index) mass(terms []queryTerm) float32 {
	var sum float32
	for _, q := range terms {
		sum += q.weight * x.rarity[q.term]
	}
	return sum
}
