package scan

import (
	"regexp"
	"slices"
	"strings"
)

// Destroys reports whether a call of a tool may be impossible to undo: its name, its texts or an
// action to choose in its decoded schema says so. It errs to the safe side.
func Destroys(name string, schema any, texts ...string) bool {
	words := strings.Fields(strings.ToLower(wordsOf(name)))
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(destroying, w) }) &&
		!slices.Contains(words, "drag") {
		return true
	}
	for _, text := range texts {
		text = normal(text)
		if beginsToDestroy.MatchString(text) || final.MatchString(text) {
			return true
		}
		if alsoDestroys.MatchString(text) && (len(words) == 0 || !slices.Contains(looking, words[0])) {
			return true
		}
	}
	return actionDestroys(schema)
}

// destroying are words in the names of tools.
var destroying = strings.Fields("delete deletes del drop drops purge purges erase erases wipe wipes destroy destroys truncate truncates uninstall uninstalls nuke shred rm rmdir unlink flushall flushdb obliterate deprovision terminate")

// looking are first words of the names of tools that list or tell something. That their
// texts speak of deleting means little.
var looking = strings.Fields("get gets list lists search find read show describe count check fetch query view lookup status explain help")

const destroyVerb = `(?:delet(?:e|es|ing)|drop(?:s|ping)?|purg(?:e|es|ing)|eras(?:e|es|ing)|wip(?:e|es|ing)|destroy(?:s|ing)?|truncat(?:e|es|ing)|uninstall(?:s|ing)?)`

var (
	beginsToDestroy = regexp.MustCompile(`^(?:this (?:tool|function) )?(?:(?:is )?used to |allows? (?:you )?to |can |will |tool to |permanently |completely |bulk[ -])*` + destroyVerb + ` ` + `|^[^\s已被未不]{0,6}?(?:删除|清空|销毁|抹除|擦除|卸载)`)
	alsoDestroys    = regexp.MustCompile(`(?:[.!;:] ?|, ?|\b(?:and|or|may|will|can|also|then|permanently|irreversibly) |/)` + destroyVerb + `\b|(?:会|将|并|或|和|、|，|永久|彻底)(?:删除|清空|销毁|抹除|擦除|卸载)`)
	final           = regexp.MustCompile(`\b(?:cannot|can't|can not) be (?:undone|reversed|reverted|recovered|restored)\b|\birreversibl[ey]\b|\bunrecoverabl[ey]\b|\bpermanently (?:delet|remov|eras|destroy|drop|purg)|(?:不可|无法|不能)(?:恢复|撤销|撤回|还原|逆)|永久(?:删除|移除|清除)`)
)

// actionDestroys reports whether a schema lets the caller choose an action that destroys.
func actionDestroys(schema any) bool {
	switch v := schema.(type) {
	case []any:
		return slices.ContainsFunc(v, actionDestroys)
	case map[string]any:
		for name, inner := range v {
			if property, ok := inner.(map[string]any); ok && slices.Contains(actionNames, strings.ToLower(name)) {
				values, _ := property["enum"].([]any)
				for _, value := range values {
					word, _ := value.(string)
					if slices.ContainsFunc(strings.Fields(strings.ToLower(wordsOf(word))),
						func(w string) bool { return slices.Contains(destroying, w) }) {
						return true
					}
				}
			}
			if actionDestroys(inner) {
				return true
			}
		}
	}
	return false
}

var actionNames = strings.Fields("action actions operation op command cmd verb subcommand")
