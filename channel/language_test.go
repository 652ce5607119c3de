package channel_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/store"
)

// names are the words in etui's texts that are no English: of commands, people and agents.
var names = regexp.MustCompile(`/[a-z]+|\b(ann|test|main|other|echo|draw|message|full|auto|abcd|nothing|always|help)\b`)

// english finds the English words of a text.
func english(text string) []string {
	return regexp.MustCompile(`[A-Za-z]{2,}`).FindAllString(names.ReplaceAllString(text, ""), -1)
}

// TestChinese: every command, and every way to refuse one, answers a Chinese person in Chinese alone.
func TestChinese(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.traits.MaxText = 0
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"1"}, PerMinute: 100}, p)
		defer w.stop()
		texts := []string{
			"/compact", "/skill nothing", "/skill full", "/skill", "/hlep", "/roll", "/tools", "/tools chart", "/tools xyz", "/approve abcd",
			"/deny abcd", "/answer abcd 1", "/approve always", "/stop",
		}
		for _, c := range channel.Commands() {
			texts = append(texts, "/"+c.Name)
		}
		for i, text := range texts {
			m := person("1", text)
			m.ID, m.From.Language = fmt.Sprint(i), "zh-Hans"
			w.say(t, m)
			time.Sleep(time.Minute)
			seen := w.seen("1")
			if len(seen) != i+1 {
				t.Fatalf("%s has no answer: %q", text, seen)
			}
			said := seen[i]
			if strings.HasPrefix(text, "/tools chart") { // a tool's description is its author's
				said = strings.Split(said, ":")[0] + "图"
			}
			if more := english(said); len(more) > 0 || !chat.Chinese(said) {
				t.Errorf("%s: %q is not Chinese: %q", text, said, more)
			}
		}
	})
}

// TestLanguage: the configuration says which language a person reads, then the person's own words, then
// the platform, then the account.
func TestLanguage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		users, err := identity.New([]identity.User{
			{Name: "ann", Identities: []string{"test:1"}, Language: phrase.English}, {Name: "bao", Identities: []string{"test:2"}, Language: phrase.Chinese},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"1", "2", "3"}, Pairing: true, Language: phrase.Chinese}, newPlace(), func(c *engine.Config) {
			c.Users = func(*catalog.Catalog) *identity.Users { return users }
		})
		defer w.stop()
		for i, c := range []struct {
			user, platform, text, want string
		}{
			{"1", "zh", "/stop", "Nothing is running."}, {"2", "en", "/stop", "没有正在运行的任务。"},
			{"3", "en-US", "/stop", "Nothing is running."}, {"3", "en-US", "/停", "没有 /停 这个命令"}, {"3", "", "/stop", "没有正在运行的任务。"},
			{"4", "en", "hello", "I do not know you yet."}, {"5", "fr", "hello", "我还不认识您。"},
		} {
			m := person(c.user, c.text)
			m.ID, m.From.Language = fmt.Sprint(i), c.platform
			w.say(t, m)
			time.Sleep(time.Minute)
			if seen := w.seen(c.user); len(seen) == 0 || !strings.HasPrefix(seen[len(seen)-1], c.want) {
				t.Errorf("%+v: %q", c, seen)
			}
		}
		_, waiting, _ := w.host.Pairings(t.Context())
		i := slices.IndexFunc(waiting, func(p channel.Pairing) bool { return p.User == "5" })
		if _, err := w.host.Pair(t.Context(), waiting[i].Code); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if seen := w.seen("5"); seen[len(seen)-1] != "您现在可以给我发消息了。" {
			t.Errorf("paired: %q", seen)
		}
	})
}

// TestLeftOut: lines of code and files that a platform does not take leave a line in the person's language.
func TestLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.traits.MaxCode = 2
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}, Language: phrase.Chinese}, p)
		defer w.stop()
		code := person("1", "post ```\na\nb\nc\nd\ne\n```")
		code.ID = "code"
		w.say(t, code)
		w.say(t, person("2", "draw"))
		time.Sleep(time.Minute)
		if seen := strings.Join(w.seen("1"), "\n"); !strings.Contains(seen, "a\nb\n[……还有 3 行]\n```") {
			t.Errorf("code: %q", seen)
		}
		if seen := strings.Join(w.seen("2"), "\n"); !strings.Contains(seen, "[chart.png: 此处无法发送文件]") {
			t.Errorf("files: %q", seen)
		}
	})
}
