// Package language tells languages apart by their letters and their small words.
package language

import (
	"maps"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

// Language is a language that the lexicon does not know: neither English nor Chinese.
type Language struct {
	Name  string
	words map[string]struct{} // its function words that are no words of English
}

// languages are those that are told apart by their function words: articles, pronouns,
// prepositions, conjunctions and auxiliary verbs, without the ones that English has, too. The lists
// were written for this package.
var languages = []Language{
	{"Spanish", set(`el la los las un una unos unas de del al y o que qué en por para con sin sobre como cómo cuando cuándo cuál cuanto cuánto cuántos dónde donde quién
		mi mis tu tus su sus me te se nos lo le les es está están son soy hay tengo tiene tienes puedo puedes puede quiero necesito este esta estos estas ese esa eso
		más muy también pero porque hoy mañana ayer hasta desde ya dos tres cuatro cinco seis siete ocho nueve diez`)},
	{"French", set(`à le la les un une des du de et ou que qui quoi quel quelle quels quelles en dans pour par avec sans sur sous chez mon ma mes ton tes son ses notre nos votre vos
		je tu il elle nous vous ils elles ce cette ces est sont suis ai as avez peux peut veux voudrais dois faut pas ne plus où comment pourquoi quand combien aux
		demain hier aujourd'hui être avoir faire jusqu c'est j'ai qu'est est-ce deux trois quatre cinq huit neuf dix`)},
	{"German", set(`der die das den dem des ein eine einen einem einer eines und oder aber ist sind bin war wird werden ich du er sie wir ihr mir dir mich dich uns euch ihm ihn
		mein meine meinen meiner dein deine sein seine unser unsere nicht kein keine wie wo wer wann warum wieso welche welcher welches wieviel auf mit von vom zu zum zur
		nach bei beim für über unter durch gegen ohne kann kannst können muss möchte will soll habe haben hat heute morgen gestern bitte auch noch nur schon mal im am ins zwei drei vier fünf sechs sieben acht neun zehn`)},
	{"Portuguese", set(`o os as um uma uns umas de do da dos das no na nos nas ao aos à e ou que em por para com sem sobre como quando qual quanto quantos onde quem
		meu minha meus minhas seu sua eu você nós eles me te se lhe é está estão são sou há tenho tem posso pode quero preciso este esta isto esse essa isso
		mais muito também mas porque hoje amanhã ontem até não dois duas três quatro cinco sete oito nove dez`)},
	{"Italian", set(`il lo la i gli le un uno una di del dello della dei degli delle al allo alla ai agli alle da dal dalla nel nella nei e o che chi cosa in con su sul sulla per tra fra
		mio mia miei mie tuo tua suo sua io tu lui lei noi voi mi ti ci si è sono sei ho hai ha posso puoi può voglio vorrei devo questo questa questi quello quella
		più molto anche ma perché oggi domani ieri come dove quando quanto quale non tre quattro cinque sette otto nove dieci`)},
	{"Dutch", set(`de het een en of maar van voor met zonder op aan bij naar uit over onder tot ik jij je hij zij wij we jullie mij mijn jouw zijn haar ons onze hun
		is ben bent was waren wordt worden heb hebt heeft kan kunnen moet wil zou niet geen wat wie waar wanneer waarom hoe welke dit dat deze die vandaag morgen gisteren ook nog`)},
	{"Polish", set(`i w na z do od za przez dla o po przy nie tak jest są był była mam ma masz mogę może chcę proszę jak gdzie kiedy kto co dlaczego ile czy który która które
		mój moja moje mi mnie się ja ty on ona my wy ten ta to te tego dziś jutro wczoraj oraz lub ale że`)},
	{"Swedish", set(`och att det som en ett är på för med av till den har de inte om kan ska vill jag du han hon vi ni mig dig min mitt mina din ditt hur var när varför vilken vem vad
		från eller men här där idag imorgon igår också`)},
	{"Turkish", set(`ve bir bu şu için ile mi mı mu mü de da ne nasıl nerede neden kim hangi kaç var yok ben sen o biz siz benim senin bana sana çok daha ama veya bugün yarın dün lütfen`)},
	{"Vietnamese", set(`và là của có không cho tôi bạn một những các được với này đó khi nào ở đâu gì như thế làm sao bao nhiêu hôm nay ngày mai xin hãy`)},
	{"Indonesian", set(`dan yang di ke dari untuk dengan ini itu saya kamu anda kami kita mereka adalah ada tidak bisa akan sudah belum apa siapa mana kapan bagaimana berapa kenapa tolong besok kemarin`)},
}

// scripts tell languages apart by their letters.
var scripts = []struct {
	name   string
	script *unicode.RangeTable
}{
	{"Japanese", unicode.Hiragana}, {"Japanese", unicode.Katakana}, {"Korean", unicode.Hangul},
	{"Russian", unicode.Cyrillic}, {"Arabic", unicode.Arabic},
	{"Hindi", unicode.Devanagari}, {"Hebrew", unicode.Hebrew}, {"Greek", unicode.Greek}, {"Thai", unicode.Thai},
	{"Bengali", unicode.Bengali},
	{"Tamil", unicode.Tamil}, {"Telugu", unicode.Telugu}, {"Georgian", unicode.Georgian},
	{"Armenian", unicode.Armenian}, {"Khmer", unicode.Khmer},
}

// quoted is text that a question is about, in whatever language.
var quoted = regexp.MustCompile(`"[^"]*"|“[^”]*”|«[^»]*»|「[^」]*」|‘[^’]*’|“.*$`)

// functionWords are those of all languages that are no stop words of English.
var functionWords = func() map[string]struct{} {
	all := map[string]struct{}{}
	for _, l := range languages {
		maps.Copy(all, l.words)
	}
	maps.DeleteFunc(all, func(word string, _ struct{}) bool { return lexicon.Stop(word) })
	return all
}()

// Of returns the language of a question if it is neither English nor Chinese. Names and
// words of another language inside a question do not change its language: the words of the
// question vote.
func Of(question string) *Language {
	question = question[:min(len(question), maxRead)]
	if !suspicious(question) {
		return nil
	}
	if rest := quoted.ReplaceAllString(question, " "); strings.IndexFunc(rest, unicode.IsLetter) >= 0 {
		question = rest
	}
	if l := scriptOf(question); l != nil {
		return l
	}
	var votes [16]int
	own, accents := 0, 0
	for word := range strings.FieldsFuncSeq(question,
		func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' && r != '-' }) {
		if strings.IndexFunc(word, func(r rune) bool { return unicode.Is(unicode.Han, r) }) >= 0 {
			return nil // Chinese with words of another language in it
		}
		word = strings.ToLower(word)
		foreign, stop := false, lexicon.Stop(word)
		for i := range languages {
			if languages[i].Function(word) {
				foreign = true
				if !stop {
					votes[i]++
				}
			}
		}
		switch {
		case foreign || stop && len(word) == 1: // a stop word of two languages says nothing
		case stop:
			own += 2
		case !ascii(word):
			accents++
		default:
			if _, ok := lexicon.Lookup(english.Stem(word, false)); ok {
				own++
			}
		}
	}
	best := 0
	for i := range languages {
		if votes[i] > votes[best] {
			best = i
		}
	}
	if votes[best] > 0 && votes[best]+accents > own {
		return &languages[best]
	}
	return nil
}

// suspicious reports whether a question has a letter or a word that makes it worth a closer look.
func suspicious(question string) bool {
	start := 0
	for i := range len(question) + 1 {
		if i < len(question) && question[i] >= utf8.RuneSelf {
			return true
		}
		if i < len(question) && (question[i]|0x20 >= 'a' && question[i]|0x20 <= 'z' || question[i] == '\'') {
			continue
		}
		if n := i - start; n > 0 && n <= longest {
			var word [longest]byte
			for k := range n {
				word[k] = question[start+k] | 0x20 // a letter in lower case; an apostrophe stays
			}
			if _, ok := functionWords[string(word[:n])]; ok {
				return true
			}
		}
		start = i + 1
	}
	return false
}

// scriptOf returns the language of a question that is mostly written in letters of its own.
func scriptOf(question string) *Language {
	var counts [16]int
	letters, best := 0, 0
	for _, r := range question {
		if r < 0x370 || !unicode.IsLetter(r) {
			if unicode.IsLetter(r) {
				letters++
			}
			continue
		}
		for i, s := range scripts {
			if unicode.Is(s.script, r) {
				counts[i]++
				if counts[i] > counts[best] {
					best = i
				}
				break
			}
		}
		letters++
	}
	// Japanese has a small share of kana, between Chinese characters.
	if n := counts[best]; n == 0 ||
		2*n < letters && (scripts[best].name != "Japanese" || 5*(counts[0]+counts[1]) < letters) {
		return nil
	}
	return &Language{Name: scripts[best].name}
}

// Accented reports whether a language hardly has a word in plain letters, so that such words are
// names, as in another script.
func (l *Language) Accented() bool { return l.words == nil || l.Name == "Vietnamese" }

func ascii(word string) bool {
	for i := range len(word) {
		if word[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Function reports whether a word is a small word of any language.
func Function(word string) bool {
	_, ok := functionWords[word]
	return ok
}

// Function reports whether a word is one of the language's small words.
func (l *Language) Function(word string) bool {
	_, ok := l.words[word]
	return ok
}

// maxRead is how much of a question is read, in bytes, and longest the length of the longest small word.
const maxRead, longest = 2 << 10, 12

func set(words string) map[string]struct{} {
	set := map[string]struct{}{}
	for w := range strings.FieldsSeq(words) {
		set[w] = struct{}{}
	}
	return set
}
