package offline

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
)

// maxText is how much of a message is searched for arguments, in bytes.
const maxText = 16 << 10

// message is a question, made ready for being searched.
type message struct {
	text  string
	lower string // text in lower case, of the same length
	words []word
	names map[string]bool // words that name a parameter
	used  []bool          // by byte: belongs to an argument already
	now   time.Time
}

// word is a run of letters, digits and the signs that stand inside of names
// and numbers, or a run of Chinese.
type word struct {
	start, end int
	text       string // lower case
	wide       bool
}

func read(text string, params []parameter, now time.Time) *message {
	if len(text) > maxText {
		text = text[:maxText]
	}
	text = strings.ToValidUTF8(text, " ")
	m := &message{text: text, lower: lower(text), names: map[string]bool{}, used: make([]bool, len(text)), now: now}
	for _, p := range params {
		for _, name := range p.names() {
			m.names[name] = true
		}
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		j := i + size
		switch {
		case chat.Wide(r):
			for j < len(text) {
				r, size := utf8.DecodeRuneInString(text[j:])
				if !chat.Wide(r) || r == '，' || r == '。' {
					break
				}
				j += size
			}
			m.words = append(m.words, word{i, j, m.lower[i:j], true})
		case inWord(r):
			for j < len(text) {
				r, size := utf8.DecodeRuneInString(text[j:])
				if !inWord(r) || chat.Wide(r) {
					break
				}
				j += size
			}
			if w := strings.TrimRight(text[i:j], ".-:'"); w != "" {
				m.words = append(m.words, word{i, i + len(w), m.lower[i : i+len(w)], false})
			}
		}
		i = j
	}
	return m
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./@#%+:'", r)
}

// lower is strings.ToLower for text whose bytes must keep their places.
func lower(text string) string {
	out := []byte(text)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// take marks a part of the text as used, and reports whether it was free.
func (m *message) take(start, end int) bool {
	if slices.Contains(m.used[start:end], true) {
		return false
	}
	for i := start; i < end; i++ {
		m.used[i] = true
	}
	return true
}

// match returns the first free match of a pattern's last group.
func (m *message) match(pattern *regexp.Regexp) (string, bool) {
	for _, at := range pattern.FindAllStringSubmatchIndex(m.text, 50) {
		start, end := at[len(at)-2], at[len(at)-1]
		if start >= 0 && m.take(start, end) {
			return m.text[start:end], true
		}
	}
	return "", false
}

// names are the words by which a message may call a parameter.
func (p *parameter) names() []string {
	whole := strings.ToLower(strings.ReplaceAll(p.name, "_", " "))
	names := []string{whole}
	parts := strings.Fields(whole)
	if n := len(parts); n > 1 {
		if last := parts[n-1]; last == "id" || last == "name" || last == "number" || last == "key" {
			names = append(names, strings.Join(parts[:n-1], " "))
		}
	}
	for _, name := range slices.Clone(names) {
		names = append(names, synonyms[name]...)
	}
	return names
}

// synonyms are other words for common parameters.
var synonyms = map[string][]string{
	"namespace": {"命名空间", "ns", "环境"}, "pod": {"容器组", "pod"}, "service": {"服务"}, "node": {"节点"}, "cluster": {"集群"},
	"environment": {"env", "环境"}, "env": {"environment", "环境"}, "deployment": {"部署"}, "region": {"区域", "地域"}, "host": {"主机", "server", "服务器"},
	"customer": {"客户", "account", "client"}, "account": {"customer", "账户", "客户"}, "company": {"公司"}, "supplier": {"供应商", "vendor"}, "vendor": {"供应商", "supplier"},
	"project": {"项目"}, "team": {"团队"}, "department": {"部门"}, "repo": {"repository", "仓库"}, "repository": {"repo", "仓库"}, "branch": {"分支"},
	"ticket": {"工单", "issue"}, "issue": {"工单", "问题", "ticket"}, "invoice": {"发票"}, "order": {"订单"}, "contract": {"合同"}, "quote": {"报价单", "报价"},
	"city": {"城市"}, "room": {"会议室"}, "channel": {"频道"}, "database": {"数据库", "db"}, "table": {"表"}, "bucket": {"存储桶"}, "metric": {"指标"},
	"product": {"产品", "商品"}, "warehouse": {"仓库"}, "sku": {"商品", "货号"}, "campaign": {"活动"}, "language": {"语言"}, "currency": {"货币", "币种"},
	"employee": {"员工"}, "user": {"用户"}, "role": {"角色"}, "pipeline": {"流水线"}, "job": {"任务"}, "folder": {"文件夹", "目录"}, "path": {"文件", "file", "路径"},
	"amount": {"金额"}, "priority": {"优先级"}, "status": {"状态"}, "level": {"级别"}, "title": {"标题", "subject"}, "subject": {"主题", "标题"}, "reason": {"原因", "理由"},
	"replicas": {"副本"}, "days": {"天"}, "limit": {"最多"}, "attendees": {"参会人"}, "alert": {"告警"}, "secret": {"密钥"}, "timezone": {"时区", "time zone"},
	"image": {"镜像"}, "version": {"版本"}, "flight": {"航班"}, "hotel": {"酒店"}, "page": {"页面", "文档"}, "dashboard": {"看板", "仪表盘"},
}

// fillers stand between a parameter's name and its value and mean nothing.
var fillers = set("the a an this that these those my our your is are was to of called named as = : be id number name 这个 那个 的 是 为 叫 叫做 名为 里 里的 中 中的 上 上的 下 下的 设为 改为 改成")

// common are words that are no value of anything.
var common = set(`for with by and or but in on at from into than then so if when please show list get give find fetch meeting tell me us it its what which who how why where many much
 can could would should will do does did has have had there any all some new latest recent current currently open check look up search create make add set update change delete remove send write
 read run start stop restart view see need want last next past this today now i you we they not no logs log status info information details about per each every between during since until
 before after over under more less most least error errors warning again just also only right still yet out off down`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
