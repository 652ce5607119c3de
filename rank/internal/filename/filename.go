// Package filename finds the names of files in questions.
package filename

import (
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank/internal/lexicon"
)

// name is a path or a name with an extension, as far as it is written in Latin letters. Wide
// characters end it, since no space stands between them and the words around it: see stemOf.
var name = regexp.MustCompile(`[A-Za-z]:\\[\w\\.-]+|[~.\w*/{},-]*[\w*/}]`)

// place is the folder of a file before its name, in Chinese: 读 share 里的 a.txt. Its name is no topic.
var place = regexp.MustCompile(`[\w./-]*\w/? ?(?:这个|那个)?(?:目录|文件夹|路径)?(?:里边?|里面|下面?|底下|中|内)的? ?$`)

// kinds are the words for files by their extensions: the kinds of media that people
// name beside the word "file".
var kinds = func() map[string]string {
	set := map[string]string{}
	for kind, list := range map[string]string{
		" file ": `txt md rst log conf cfg ini env toml yaml yml json jsonl xml tex lock pem key diff patch srt pdf doc docx odt rtf ppt pptx odp epub
			csv tsv xls xlsx ods parquet html htm css go py js ts jsx tsx java kt rs rb php cpp cc hpp cs swift sh bash sql lua pl ipynb vue proto c h
			bin exe dll so dat db sqlite wasm iso dmg apk deb rpm zip tar gz tgz rar bz2 xz`,
		" file image ": "png jpg jpeg gif webp bmp svg heic tif tiff ico avif",
		" file audio ": "mp3 wav ogg flac m4a aac",
		" file video ": "mp4 mov avi mkv webm",
	} {
		for extension := range strings.FieldsSeq(list) {
			set["."+extension] = kind
		}
	}
	return set
}()

// Replace puts "file" and its kind in place of the names of files, and [Folder] in place of paths that
// end with a slash. It returns the last of these words; empty where nothing is named.
func Replace(query string) (text, named string) {
	end := 0
	var rest strings.Builder
	for _, at := range name.FindAllStringIndex(query, -1) {
		from := stemOf(query[end:at[0]], query[at[0]:at[1]]) + end
		kind := kindOf(query[from:at[1]])
		next, _ := utf8.DecodeRuneInString(query[at[1]:])
		if kind == "" || kind == Folder && chat.Wide(next) && !strings.ContainsRune("里中下的内", next) {
			continue // 收入/支出
		}
		before := query[end:from]
		if kind != Folder {
			before = place.ReplaceAllString(before, "")
		}
		rest.WriteString(before + kind)
		named, end = kind, at[1]
	}
	rest.WriteString(query[end:])
	return rest.String(), named
}

// Folder stands for a path that ends with a slash.
const Folder = " folder "

// kindOf returns the words for what a name names; empty when it names no file.
func kindOf(name string) string {
	extension := strings.ToLower(path.Ext(name))
	kind, known := kinds[extension]
	lower := strings.IndexFunc(name, func(r rune) bool { return unicode.IsLower(r) || chat.Wide(r) }) >= 0
	rooted := strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "~/") ||
		strings.Contains(name, `:\`)
	switch {
	case !known && !lower:
		return ""
	case known && len(name) > len(extension):
		return kind + extension[1:] + " "
	case strings.HasSuffix(name, "/"):
		return Folder
	case rooted || strings.HasPrefix(name, "/") && strings.Count(name, "/") > 1:
		return " file "
	}
	return ""
}

// stemOf returns where a name begins that ends with latin and may begin with wide characters before
// it: at the last space, behind the words of a request (打开会议记录.md). Of a run that begins with
// another word, this word is no part of the name: it may be what is asked for.
func stemOf(before, latin string) int {
	last, _ := utf8.DecodeLastRuneInString(before)
	if !inName(last) || last < utf8.RuneSelf || !goesOn(latin) || kindOf("x"+latin) == "" {
		return len(before)
	}
	begin, folders := len(before), strings.Contains(latin, "/")
	for begin > 0 {
		r, size := utf8.DecodeLastRuneInString(before[:begin])
		folders = folders || r == '/'
		if !inName(r) && (!folders || r >= utf8.RuneSelf || !unicode.IsLetter(r)) {
			break
		}
		begin -= size
	}
	run, at, asks := before[begin:], 0, begin > 0
	for at < len(run) {
		word := firstWord(run[at:])
		if at+len(word) == len(run) && latin[0] == '.' {
			break // a name has at least one word
		}
		if _, ok := handling[word]; ok {
			at, asks = at+len(word), true
			continue
		}
		if !asks && word[0] >= utf8.RuneSelf {
			at += len(word)
		}
		break
	}
	return begin + at
}

// goesOn reports whether the Latin part of a name may follow wide characters: it is an extension, a
// number or a version.
func goesOn(latin string) bool {
	return strings.IndexByte("./_-0123456789", latin[0]) >= 0 ||
		len(latin) > 1 && latin[0]|0x20 == 'v' && digit(latin[1])
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// firstWord returns the first word of a run of wide characters, or its first character.
func firstWord(run string) string {
	_, end := utf8.DecodeRuneInString(run)
	for end < len(run) {
		r, size := utf8.DecodeRuneInString(run[end:])
		if _, ok := handling[run[:end+size]]; !ok && (!chat.Wide(r) || !isWord(run[:end+size])) {
			break
		}
		end += size
	}
	return run[:end]
}

// inName reports whether the names of files have a character that is no letter of a Latin script.
func inName(r rune) bool {
	return chat.Wide(r) && unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("（）()《》_-/·", r)
}

// handling are the words that stand before the name of a file in a Chinese request.
var handling = set(`请 帮 帮我 给 给我 我 你 能 可以 能否 麻烦 想 要 我想 让 把 将 从 用 在 往 向 到 对 和 与 跟 及 或 以及 还有 同 比 的 里 里面 那个 这个 那份 这份 我的 再 先 就 去 来
	一下 下 一遍 成 为 叫 做 作 进 出 掉 完 好 是 看 看看 看下 读 念 读取 打开 查看 显示 浏览 翻 翻翻 瞧 瞧瞧 过 过目 检查 核对 总结 概括 归纳 翻译 分析 统计 整理 解释 描述
	删 删除 删掉 移除 清除 清空 扔 扔掉 丢 去掉 建 新建 创建 生成 写 写入 写进 记 记到 记在 存 存到 存成 存为 保存 另存 另存为 导出 导入 改 改成 改名 改名为 修改 更改 编辑 更新 修正 替换
	重写 改写 润色 重命名 重命名为 命名 命名为 找 找到 找出 查 查找 搜 搜索 寻找 定位 复制 拷贝 移动 移 移到 搬 搬到 放 放到 放进 追加 添加 加 加到 加入 附加 补充 插入 比较 对比 比对 合并 拆分
	压缩 解压 打印 发 发送 发给 上传 下载 分享 转 转换 转成 转为 执行 运行 备份 恢复`)

// isWord reports whether the dictionary has a Chinese word.
func isWord(word string) bool {
	_, ok := lexicon.English(word)
	return ok
}

func set(words string) map[string]struct{} {
	set := map[string]struct{}{}
	for w := range strings.FieldsSeq(words) {
		set[w] = struct{}{}
	}
	return set
}
