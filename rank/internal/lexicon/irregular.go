package lexicon

import "strings"

// Base returns the base form of an irregular form of a verb or a noun, such as "buy" for "bought";
// other words are returned unchanged. Regular forms share a stem with their base. Forms that are
// words of their own, such as "left", "saw" and "ground", are not in the list, nor is "sent": it tells which
// message is meant ("the mail that Tom sent") and asks to send none.
func Base(word string) string {
	if base, ok := irregular[word]; ok {
		return base
	}
	return word
}

var irregular = func() map[string]string {
	list := map[string]string{}
	for line := range strings.Lines(irregularForms) {
		base, forms, _ := strings.Cut(strings.TrimSpace(line), " ")
		for form := range strings.FieldsSeq(forms) {
			list[form] = base
		}
	}
	return list
}()

// irregularForms has a base on each line, and its forms behind it. The list was written for this package.
const irregularForms = `become became
begin began begun
bite bitten
blow blew blown
break broke broken
bring brought
build built
buy bought
catch caught
choose chose chosen
come came
deal dealt
dig dug
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
fall fallen
feed fed
fight fought
find found
fly flew flown
forbid forbade forbidden
forget forgot forgotten
freeze froze frozen
go went gone
grow grew grown
hear heard
hide hid hidden
hold held
keep kept
know knew known
learn learnt
lend lent
lose lost
meet met
overdraw overdrew overdrawn
overtake overtook overtaken
pay paid
ride rode ridden
ring rang rung
run ran
say said
seek sought
sell sold
shake shook shaken
show shown
sing sang sung
sink sank sunk
sleep slept
speak spoken
spell spelt
spend spent
spill spilt
steal stole stolen
swim swam swum
take took taken
teach taught
tear torn
tell told
think thought
throw threw thrown
undergo underwent undergone
understand understood
undo undid undone
wake woke woken
wear wore worn
win won
withdraw withdrew withdrawn
write wrote written
child children
foot feet
goose geese
half halves
knife knives
man men
mouse mice
person persons
shelf shelves
thief thieves
tooth teeth
wife wives
woman women
`
