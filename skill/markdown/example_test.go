package markdown_test

import (
	"fmt"

	"github.com/etui-run/etui/skill/markdown"
)

// Parse repairs what Validate refuses.
func Example() {
	text := []byte(`---
name: tidy
description: Tidies up: files, folders and mail.
allowed-tools: [Read, "Bash(git:*)"]
---
Sweep first.
`)
	for _, p := range markdown.Validate("tidy", "SKILL.md", text) {
		fmt.Printf("line %d: %s\n", p.Line, p.Message)
	}
	d, _, err := markdown.Parse("tidy", text)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Description)
	fmt.Println(markdown.Tools(d.AllowedTools))
	fmt.Println(d.Body)
	// Output:
	// line 3: the frontmatter is not valid YAML: mapping values are not allowed in this context; put a text with ": " into quotes, or check the indentation
	// Tidies up: files, folders and mail.
	// [read_file exec(git:*)]
	// Sweep first.
}
