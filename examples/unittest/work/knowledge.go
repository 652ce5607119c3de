package work

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/unittest/lang"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

const (
	maxPieces = 2000
	pieceSize = 2 << 10 // bytes
)

type knowledgeInput struct {
	Query string `json:"query" minLength:"2"`
	Limit int    `json:"limit" default:"3" minimum:"1" maximum:"10"`
}

// knowledgeBase searches the project's notes and existing tests, and shows the best pieces: conventions, examples, pitfalls.
//
//etui:tool name=KnowledgeBase risk=read
//etui:zh 在笔记和已有测试中搜索约定和示例。
//etui:alias documentation, conventions, examples, search notes, 知识库
//etui:example how do we compare errors in tests?
func (w *Work) knowledgeBase(in knowledgeInput) (chat.Result, error) {
	pieces, err := w.pieces()
	if err != nil {
		return chat.Result{}, err
	}
	if len(pieces) == 0 {
		return result(map[string]any{"found": 0}, "There are no notes and no tests yet.")
	}
	// The product's own ranking: a piece is found as a tool is.
	index := rank.New(pieces, rank.Weights{})
	ranking := index.Rank(rank.Query{Text: in.Query})
	if ranking.Failed != nil {
		return chat.Result{}, ranking.Failed
	}
	var b strings.Builder
	hits := ranking.Hits(in.Limit)
	for _, hit := range hits {
		p := pieces[hit.Position]
		fmt.Fprintf(&b, "## %s (%s)\n%s\n\n", p.Description, p.Source, strings.TrimSpace(p.Body))
	}
	if len(hits) == 0 {
		b.WriteString("Nothing in the notes or tests fits these words.")
	}
	return result(map[string]any{"found": len(hits)}, b.String())
}

// pieces are the notes by their headings, and the tests by functions or so.
func (w *Work) pieces() (list []*tool.Definition, err error) {
	add := func(file, heading, text string) {
		if len(list) < maxPieces && strings.TrimSpace(text) != "" {
			list = append(list, &tool.Definition{Name: "piece_" + strconv.Itoa(len(list)), Description: heading, Body: text, Source: file})
		}
	}
	err = w.Project.Walk(func(file string, info fs.FileInfo) error {
		if info.Size() > lang.MaxSource {
			return nil
		}
		switch {
		case path.Ext(file) == ".md":
			if text, err := w.Project.Read(file); err == nil {
				markdown(string(text), file, add)
			}
		case w.Language.IsTest(file):
			if text, err := w.Project.Read(file); err == nil {
				tests(string(text), file, add)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, dir := range w.Notes {
		err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || filepath.Ext(file) != ".md" || len(list) >= maxPieces {
				return err
			}
			if info, err := d.Info(); err != nil || info.Size() > lang.MaxSource {
				return err
			}
			text, err := os.ReadFile(file)
			if err == nil {
				markdown(string(text), filepath.Base(file), add)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("the notes cannot be read: %w", err)
		}
	}
	return list, nil
}

// markdown cuts a page at its headings.
func markdown(text, file string, add func(file, heading, text string)) {
	title, heading, piece := "", path.Base(file), ""
	flush := func() {
		if title != "" && title != heading {
			add(file, title+": "+heading, cutTo(piece))
		} else {
			add(file, heading, cutTo(piece))
		}
		piece = ""
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			flush()
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
			if title == "" {
				title = heading
			}
			continue
		}
		piece += line
	}
	flush()
}

// tests cuts a file of tests at empty lines, into pieces of some size.
func tests(text, file string, add func(file, heading, text string)) {
	piece := ""
	for part := range strings.SplitSeq(text, "\n\n") {
		if piece != "" && len(piece)+len(part) > pieceSize {
			add(file, "Tests of "+path.Base(file), cutTo(piece))
			piece = ""
		}
		piece += part + "\n\n"
	}
	add(file, "Tests of "+path.Base(file), cutTo(piece))
}

func cutTo(text string) string {
	if len(text) <= pieceSize {
		return text
	}
	return strings.ToValidUTF8(text[:pieceSize], "") + "…"
}
