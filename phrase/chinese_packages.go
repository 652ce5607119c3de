package phrase

// packages returns why a package, a backup or the file of a client is not taken.
func packages() map[string]string {
	return map[string]string{
		"backing up %s: %v": "备份 %s：%v",
		"%s became shorter while it was read; try again": "%s 在读取时变短了；请重试",
		"%s: %v; nothing was changed":                    "%s：%v；未作更改",
		"reading %s: %v":                                 "读取 %s：%v",
		"the link %q leads out of the state: %v":         "链接“%s”指向状态之外：%v",
		"%s is not part of a backup":                     "%s 不属于备份",
		"%s is a link to %s, outside of the state":       "%s 是指向状态之外 %s 的链接",
		"%s is neither a file, a folder nor a link":      "%s 既不是文件、文件夹，也不是链接",
		"the state is half restored: %v; the state before is in %s": "" +
			"状态只恢复了一半：%v；之前的状态在 %s",
		"%s belongs to another user (uid %d); run this as that user": "" +
			"%s 属于另一用户（uid %d）；请以该用户身份运行",
		"%s has %d servers, at most %d are read":      "%s 有 %d 个服务器，最多读取 %d 个",
		"it has more than %d MB":                      "超过 %d MB",
		"it is no JSON: %v":                           "不是 JSON：%v",
		"there is no client %q%s; the clients are %s": "没有客户端“%s”%s；现有的客户端：%s",
		"the name %q: a server's has up to 64 letters of English, digits, - and _": "" +
			"名称“%s”：服务器的名称最多 64 个字符，只含英文字母、数字、- 和 _",
		"%s has more than %d MB":                   "%s 超过 %d MB",
		"%s has changed meanwhile; run this again": "%s 已被改动；请再次运行",
		"the backup: %v":                           "备份：%v",
		"%s is no object":                          "%s 不是对象",
		"it has a server %s; remove [%s.%s], then run this again": "" +
			"已有服务器 %s；请删除 [%s.%s]，再次运行",
		"%s is no table to which [%s.%s] can be added; write it as one, then run this again": "" +
			"%s 不是可以加入 [%s.%s] 的表；请改写成表，再次运行",
		"an example is one line of at most %d bytes":                   "示例只占一行，最多 %d 字节",
		"%s has %d examples already; edit %s":                          "%s 已有 %d 个示例；请编辑 %s",
		"line %d is about %s, too: join the two lines":                 "第 %d 行也是关于 %s 的：请合并这两行",
		"it has more than one object: write each on a line of its own": "不止一个对象：请每行写一个",
		"%d tools in a row failed, the last one with: %v":              "连续 %d 个工具失败，最后一个的错误：%v",
		"the model declined to answer":                                 "模型拒绝回答",
		"the model answered without JSON":                              "模型的回答中没有 JSON",
		"the answer is not JSON, and longer than %d KiB, up to which mistakes are repaired": "" +
			"回答不是 JSON，且超过了可修复的 %d KiB",
		"the answer is not the JSON that was asked for": "回答不是所要求的 JSON",
		"the answer has neither aliases nor examples":   "回答中既没有别名也没有示例",
		"%s: it %s: %q; look at it, and import it with --yes": "" +
			"%s：%s：“%s”；请查看它，再用 --yes 导入",
		"%s: a folder needs url, its path": "%s：文件夹需要 url，即其路径",
		"%s holds no certificates in PEM":  "%s 不含 PEM 格式的证书",
		"%s is no address of a repository; write https://HOST/owner/repository, owner/repository@name, or the path of a folder or an archive": "" +
			"%s 不是仓库的地址；请写 https://HOST/owner/repository、owner/repository@name，或文件夹、归档文件的路径",
		"%s names no skill; write owner/repository@name, or https://HOST/owner/repository": "" +
			"%s 没有指明技能；请写 owner/repository@name 或 https://HOST/owner/repository",
		"whether %s may be installed is unknown: %v":        "不知道 %s 是否可以安装：%v",
		"the files of %s are unknown: %v":                   "不知道 %s 有哪些文件：%v",
		"it lists no digests":                               "没有列出摘要",
		"it gives %s as %q, which is not supported":         "它给出的 %s 是“%s”，不受支持",
		"%v: it gives %s as a repository that cannot exist": "%v：它给出的 %s 是不可能存在的仓库",
		"reading the package: %v":                           "读取软件包：%v",
		"registry %s: its url needs {repository} and {version}, as in %s": "" +
			"技能库 %s：url 需要 {repository} 和 {version}，例如 %s",
		"%s: %v; update it, or replace it with --force": "%s：%v；请更新它，或用 --force 替换",
		"removing the skill %s: %v; remove it by hand":  "删除技能 %s：%v；请手动删除",
		"%s from %s: %v":         "%s（来自 %s）：%v",
		"nothing was downloaded": "没有下载到内容",
		"the archive is not the one that the registry describes: its digest is %s, not %s": "" +
			"归档文件与技能库描述的不符：摘要是 %s，而不是 %s",
		"the files differ from the ones that the registry judged: the digest over all of them is another": "" +
			"文件与技能库评判过的不同：全部文件的摘要不一致",
		"%s is missing from the package": "软件包中缺少 %s",
		"%s is in the package, but not among the files that the registry lists": "" +
			"软件包中有 %s，但它不在技能库列出的文件之中",
		"%s is not the one that the registry describes: its digest is %s, not %s": "" +
			"%s 与技能库描述的不符：摘要是 %s，而不是 %s",
		"putting the skill %s in place: %v": "放置技能 %s：%v",
		"there is no registry %q%s":         "没有技能库“%s”%s",
		"%s: %v: no registry takes such names; see skills.registries in etui.yaml": "" +
			"%s：%v：没有技能库使用这样的名称；参见 etui.yaml 中的 skills.registries",
		"%s: %v in %s; etui skills find WORDS looks for others": "" +
			"%s：%s 中%v；etui skills find 关键词 可查找其他技能",
		"%s: %v: no registry is for %s; add %s to skills.registries in etui.yaml, beside those that you use": "" +
			"%s：%v：没有用于 %s 的技能库；请把 %s 加到 etui.yaml 的 skills.registries 中，与您使用的技能库并列",
		"opening the folder of skills: %v":                   "打开技能的文件夹：%v",
		"%s: %v is installed":                                "%s：%v；尚未安装",
		"%s was not installed from a registry: it has no %s": "%s 不是从技能库安装的：它没有 %s",
		"%s: %v: %s; remove them, too, with --force":         "%s：%v：%s；用 --force 可一并删除",
		"removing the skill %s: %v":                          "删除技能 %s：%v",
		"it is neither a zip nor a tar.gz archive":           "既不是 zip 也不是 tar.gz 归档文件",
		"the archive has %s, at most %s are allowed":         "归档文件有 %s，最多允许 %s",
		"the archive is empty":                               "归档文件是空的",
		"%s is a link or a special file; packages hold only files and folders": "" +
			"%s 是链接或特殊文件；软件包只能包含文件和文件夹",
		"%s is longer than the archive says":                 "%s 比归档文件所说的长",
		"%s is shorter than the archive says":                "%s 比归档文件所说的短",
		"%s is damaged: its checksum is wrong":               "%s 已损坏：校验和不符",
		"it has more than %d files and folders":              "文件和文件夹超过 %d 个",
		"its files have more than %s together":               "文件合计超过 %s",
		"%s has %s, at most %s are allowed":                  "%s 有 %s，最多允许 %s",
		"it grows by more than %d times when it is unpacked": "解压后增大超过 %d 倍",
		"it has no %s at its top":                            "顶层没有 %s",
		"unsafe name %s in the package: %s":                  "软件包中的名称 %s 不安全：%s",
		"%s and %s are the same file on some systems":        "%s 和 %s 在某些系统上是同一个文件",
		"%s is file and folder at once":                      "%s 同时是文件和文件夹",
		"%s is in the package twice":                         "%s 在软件包中出现两次",
		"%s is a %s; packages hold only files and folders":   "%s 是%s；软件包只能包含文件和文件夹",
		"the tar.gz archive is damaged: %v":                  "tar.gz 归档文件已损坏：%v",
		"it unpacks to more than is allowed":                 "解压后超过允许的大小",
		"the zip archive is damaged: %s":                     "zip 归档文件已损坏：%s",
		"reading the zip archive: %v":                        "读取 zip 归档文件：%v",
		"the list of its files takes %s":                     "文件清单占 %s",
		"the zip archive has 65,535 files or more; pack it as tar.gz": "" +
			"zip 归档文件有 65,535 个以上的文件；请打包为 tar.gz",
		"the zip archive is only a part of one":         "zip 归档文件只是其中一卷",
		"the zip64 sizes of %s are missing":             "缺少 %s 的 zip64 大小",
		"%s: its two headers in the zip archive differ": "%s：zip 归档文件中的两个头部不一致",
		"%s and %s share bytes of the zip archive":      "%s 和 %s 共用 zip 归档文件中的字节",
		"%s is encrypted":                               "%s 已加密",
		"%s is compressed by method %d; only deflate is supported": "" +
			"%s 的压缩方法是 %d；只支持 deflate",
		"%s: the sizes of a file that is not compressed differ": "%s：未压缩文件的大小不一致",
		"%s/%s is damaged: %v; install the skill again with --force": "" +
			"%s/%s 已损坏：%v；请用 --force 重新安装此技能",
		"it has too many files": "文件过多",
		"it names the skill %s, not %s: a skill must not take another's place": "" +
			"其中的技能名是 %s，而不是 %s：技能不能取代另一项技能",
		"the description has %d characters, at most %d are allowed": "" +
			"描述有 %d 个字符，最多允许 %d 个",
		"making the folder of skills: %v":                     "创建技能的文件夹：%v",
		"waiting for another installation into %s to end: %v": "等待另一个安装到 %s 的过程结束：%v",
		"%s is not a folder; remove it":                       "%s 不是文件夹；请删除它",
		"putting the skill %s back: %v":                       "恢复技能 %s：%v",
		"registry %s: %q is not the URL of a server":          "技能库 %s：“%s”不是服务器的 URL",
		"too many requests; try again in %s":                  "请求过多；请在 %s 后重试",
		"its answer has more than %s":                         "回答超过 %s",
		"its answer has more than %d values":                  "回答超过 %d 个值",
		"the signature in %s is not valid: %v":                "%s 中的签名无效：%v",
		"it is not a Sigstore bundle: %v":                     "不是 Sigstore 的 bundle：%v",
		"it is not a Sigstore bundle with one signed in-toto statement": "" +
			"不是只含一条已签名 in-toto 声明的 Sigstore bundle",
		"it was not made with the key of its certificate":     "不是用其证书的密钥签署的",
		"its certificate cannot be read: %v":                  "无法读取其证书：%v",
		"its certificate does not lead to a trusted root: %v": "其证书不能追溯到受信任的根：%v",
		"its certificate is not for signing":                  "其证书不用于签名",
		"its statement cannot be read: %v":                    "无法读取其声明：%v",
		"its statement is not one about files with SHA-256":   "其声明不是关于文件 SHA-256 的",
		"its statement about %s is not supported":             "其关于 %s 的声明不受支持",
		"the digest of all its files is wrong":                "全部文件的摘要不符",
		"%s was changed after it was signed":                  "%s 在签名之后被改动",
		"%s was signed, but is missing":                       "%s 已签名，但缺失",
		"%s is not among the files that were signed":          "%s 不在已签名的文件之中",
		"%s names no skill; write @owner/name":                "%s 没有指明技能；请写 @owner/name",
		"the skill has no name":                               "技能没有名称",
		"%s cannot be the name of a skill: it has 1 to 64 lower-case letters, digits, '-' and '_'": "" +
			"%s 不能作为技能的名称：名称由 1 到 64 个小写字母、数字、“-”和“_”组成",
		"it is already installed":               "已经安装",
		"its source gives a lower version":      "来源给出的版本更低",
		"%s in %s: %v":                          "%s（%s）：%v",
		"%s: %v: %s; replace them with --force": "%s：%v：%s；用 --force 可替换",
		"%s: %v: %s, and %s is installed; to go back: etui skills update %[1]s --force%[5]s": "" +
			"%s：%v：%s，已安装的是 %s；要退回：etui skills update %[1]s --force%[5]s",
		"%s has no /.well-known/agent-skills/index.json": "" +
			"%s 没有 /.well-known/agent-skills/index.json",
		"%s does not give %s: %s": "%s 不提供 %s：%s",
		"%s holds %d skills; name the folder of one: %s": "" +
			"%s 含有 %d 项技能；请指明其中一项的文件夹：%s",
		"%s is a bare Git repository, without the files of a skill; clone it, and name the clone": "" +
			"%s 是 Git 裸仓库，不含技能的文件；请先克隆，再指明克隆的文件夹",
		"%s holds no skill: there is no %s in it": "%s 不含技能：其中没有 %s",
		"%s is not a file of at most %s":          "%s 不是不超过 %s 的文件",
		"%s names no repository; write owner/repository@name": "" +
			"%s 没有指明仓库；请写 owner/repository@name",
		"%s holds %d skills: %s; write %s@name": "%s 含有 %d 项技能：%s；请写 %s@name",
		"the files of %s are others than those that somebody looked at; look again": "" +
			"%s 的文件与有人查看过的不同；请重新查看",
		"%s calls %s malicious%s%s":                 "%s 称 %s 是恶意的%s%s",
		"%s does not say whether %s may be trusted": "%s 没有说明 %s 是否可信",
		"%s has more than %s":                       "%s 超过 %s",
		"%s is not what the registry describes: its digest is %s, not %s": "" +
			"%s 与技能库描述的不符：摘要是 %s，而不是 %s",
		"the index of %s has no usable address and digest for %s": "%s 的索引没有 %s 可用的地址和摘要",
		"the index of %s gives %s the type %q, which is not supported": "" +
			"%s 的索引给 %s 的类型是“%s”，不受支持",
		"the index of %s lists no %s for %s, or too many files": "" +
			"%s 的索引没有列出 %s（%s），或文件过多",
		"its scanners say so":                "其扫描程序如此判断",
		"it is empty":                        "是空的",
		"it is too long":                     "太长",
		"it is not UTF-8":                    "不是 UTF-8",
		"it contains a backslash or a colon": "含有反斜杠或冒号",
		"it leads out of the package":        "指向软件包之外",
		"it has too many folders":            "文件夹层数过多",
		"it contains invisible characters":   "含有不可见字符",
		"it contains a character that some systems read as a slash":  "含有某些系统当作斜杠的字符",
		"it contains an empty, . or .. element":                      "含有空的、. 或 .. 的部分",
		"an element is too long":                                     "其中一部分太长",
		"an element begins or ends with a blank, or ends with a dot": "其中一部分以空格开头或结尾，或以点结尾",
		"an element begins with a dash, like an option of a program": "其中一部分以短横线开头，像程序的选项",
		"a Git repository inside a package can run programs":         "软件包中的 Git 仓库可以运行程序",
		"; the installed one is removed":                             "；已安装的已被删除",
		`it needs "tool" or "skill"`:                                 `需要 "tool" 或 "skill"`,
	}
}
