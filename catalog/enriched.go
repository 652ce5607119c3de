package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/etui-run/etui/tool"
)

// Enrichment are texts about one tool or skill that its author did not write. Only the
// ranking reads them.
type Enrichment struct {
	tool.Texts
	// For is the [Registration.Hash] or [Skill.Hash] of what they were written for. They
	// are ignored once it has changed. Empty means any version.
	For string
}

// SkillTexts is the name in an enrichment of a skill's texts.
func SkillTexts(skill string) string { return "skill:" + skill }

// enrichment is the texts that a registry was given last, by name of the tool or by
// [SkillTexts].
type enrichment struct{ texts map[string]Enrichment }

// Enrich replaces all texts about tools and skills, by name of the tool or by
// [SkillTexts]. Do not change the map afterwards. Texts about what does not exist wait
// for it.
func (r *Registry) Enrich(texts map[string]Enrichment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enriched = &enrichment{texts}
	r.show(r.current.Load().toolIndex)
}

// Enrichments returns the texts that the registry was given. Do not change the map.
func (c *Catalog) Enrichments() map[string]Enrichment {
	if c.enriched == nil {
		return nil
	}
	return c.enriched.texts
}

// SameTexts reports whether two catalogs were given the same texts.
func (c *Catalog) SameTexts(o *Catalog) bool { return c.enriched == o.enriched }

// ToolTexts returns the texts that count for the tools in effect, by name.
func (c *Catalog) ToolTexts() map[string]tool.Texts {
	texts := map[string]tool.Texts{}
	for name, t := range c.Enrichments() {
		if e, ok := c.byName[name]; ok && (t.For == "" || t.For == e.Hash()) {
			texts[name] = t.Texts
		}
	}
	return texts
}

// SkillTexts returns the texts that count for the skills, by name of the skill.
func (c *Catalog) SkillTexts() map[string]tool.Texts {
	texts := map[string]tool.Texts{}
	if len(c.Enrichments()) == 0 {
		return texts
	}
	for i := range c.skills {
		s := &c.skills[i]
		if t, ok := c.Enrichments()[SkillTexts(s.Name)]; ok && (t.For == "" || t.For == s.Hash()) {
			texts[s.Name] = t.Texts
		}
	}
	return texts
}

// Hash tells versions of the definition apart, as models read it and as arguments are checked.
func (r *Registration) Hash() string {
	r.lazy.hashed.Do(func() { r.lazy.hash = hash(slices.Concat(r.JSON, r.Definition.Arguments)) })
	return r.lazy.hash
}

// Hash tells versions of the skill's name and description apart.
func (s Skill) Hash() string {
	raw, _ := json.Marshal([]string{s.Name, s.Description}) // cannot fail
	return hash(raw)
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
