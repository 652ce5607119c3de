package offline

// The words that the search for arguments knows, in English and Chinese.

// enumEnglish are other words for common values.
var enumEnglish = map[string][]string{
	"usd": {"dollars", "dollar", "bucks"}, "eur": {"euros", "euro"}, "cny": {"yuan", "rmb", "renminbi"},
	"gbp": {"pounds", "sterling"}, "jpy": {"yen"},
	"zh": {"chinese"}, "en": {"english"}, "fr": {"french"}, "de": {"german"}, "es": {"spanish"}, "ja": {"japanese"},
	"ko":     {"korean"},
	"annual": {"vacation", "holiday"}, "prod": {"production", "live"}, "cpu": {"processor"},
	"overdue": {"late", "past due"}, "urgent": {"asap", "critical"},
}

// enumChinese are Chinese words for common values.
var enumChinese = map[string][]string{
	"error": {"错误", "报错", "异常"}, "warning": {"警告", "告警"}, "warn": {"警告"}, "info": {"信息级"},
	"debug": {"调试"}, "critical": {"严重", "紧急"}, "fatal": {"致命"},
	"high": {"高优先级", "高"}, "medium": {"中等", "中优先级"}, "low": {"低优先级", "低"}, "urgent": {"紧急", "加急"},
	"open": {"未关闭", "打开", "未解决", "待处理"}, "closed": {"已关闭", "关闭的"},
	"pending": {"待处理", "待审批", "未审批"}, "approved": {"已批准", "通过", "同意", "批准"},
	"rejected": {"拒绝", "驳回"}, "overdue": {"逾期", "过期未付"}, "paid": {"已付", "已支付"},
	"unpaid": {"未付", "未支付"}, "draft": {"草稿"},
	"running": {"运行中", "正在运行"}, "failed": {"失败"}, "success": {"成功"}, "active": {"活跃", "启用"},
	"inactive": {"停用"}, "resolved": {"已解决"}, "in_progress": {"进行中", "处理中"},
	"annual": {"年假", "年休"}, "sick": {"病假"}, "personal": {"事假"}, "maternity": {"产假"},
	"vacation": {"年假", "休假"},
	"daily":    {"每天", "每日", "按天"}, "weekly": {"每周", "按周", "周报"}, "monthly": {"每月", "按月", "月报"},
	"quarterly": {"季度"}, "yearly": {"每年", "年度"},
	"today": {"今天", "今日"}, "tomorrow": {"明天"}, "yesterday": {"昨天"}, "zh": {"中文", "汉语"},
	"en": {"英文", "英语"}, "ja": {"日文", "日语"}, "fr": {"法语", "法文"}, "de": {"德语", "德文"},
	"english": {"英文", "英语"}, "chinese": {"中文"}, "usd": {"美元"}, "cny": {"人民币"}, "eur": {"欧元"},
	"jpy": {"日元"}, "gbp": {"英镑"}, "hkd": {"港币"},
	"production": {"生产", "线上"}, "prod": {"生产", "线上"}, "staging": {"预发", "测试环境"}, "dev": {"开发环境"},
	"cpu": {"处理器"}, "memory": {"内存"}, "disk": {"磁盘"},
	"economy": {"经济舱"}, "business": {"商务舱"}, "flight": {"机票", "航班"}, "train": {"火车", "高铁"},
	"hotel": {"酒店"}, "meal": {"餐费", "餐饮"}, "travel": {"差旅"}, "taxi": {"打车"},
}

var units = map[string][]string{
	"capacity": {"people", "persons", "人"}, "people": {"persons", "人"}, "guests": {"people", "人"},
	"amount": {"$", "€", "¥", "元", "usd", "yuan", "dollar"},
	"tail":   {"lines", "行"}, "lines": {"行"}, "limit": {"first", "top", "前", "最近", "latest", "last"},
	"quantity": {"pieces", "units", "件", "个", "台", "箱"}, "nights": {"晚"},
	"replicas": {"scale", "扩", "副本"}, "attendees": {"people", "人"}, "seats": {"people", "人"}, "price": {"$", "元"},
	"budget": {"$", "元"}, "days": {"天"}, "hours": {"小时"},
}

var numerals = map[string]int{"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9,
	"十": 10}

// synonyms are other words for common parameters.
var synonyms = map[string][]string{
	"namespace": {"命名空间", "ns", "环境"}, "pod": {"容器组", "pod"}, "service": {"服务"}, "node": {"节点"},
	"cluster":     {"集群"},
	"environment": {"env", "环境"}, "env": {"environment", "环境"}, "deployment": {"部署"}, "region": {"区域", "地域"},
	"host":     {"主机", "server", "服务器"},
	"customer": {"客户", "account", "client"}, "account": {"customer", "账户", "客户"}, "company": {"公司"},
	"supplier": {"供应商", "vendor"}, "vendor": {"供应商", "supplier"},
	"project": {"项目"}, "team": {"团队"}, "department": {"部门"}, "repo": {"repository", "仓库"},
	"repository": {"repo", "仓库"}, "branch": {"分支"},
	"ticket": {"工单", "issue"}, "issue": {"工单", "问题", "ticket"}, "invoice": {"发票"}, "order": {"订单"},
	"contract": {"合同"}, "quote": {"报价单", "报价"},
	"city": {"城市"}, "room": {"会议室"}, "channel": {"频道"}, "database": {"数据库", "db"}, "table": {"表"},
	"bucket": {"存储桶"}, "metric": {"指标"},
	"product": {"产品", "商品"}, "warehouse": {"仓库"}, "sku": {"商品", "货号"}, "campaign": {"活动"},
	"language": {"语言"}, "currency": {"货币", "币种"},
	"employee": {"员工"}, "user": {"用户"}, "role": {"角色"}, "pipeline": {"流水线"}, "job": {"任务"},
	"folder": {"文件夹", "目录"}, "path": {"文件", "file", "路径"},
	"amount": {"金额"}, "priority": {"优先级"}, "status": {"状态"}, "level": {"级别"}, "title": {"标题", "subject"},
	"subject": {"主题", "标题"}, "reason": {"原因", "理由"},
	"replicas": {"副本"}, "days": {"天"}, "limit": {"最多"}, "attendees": {"参会人"}, "alert": {"告警"},
	"secret": {"密钥"}, "timezone": {"时区", "time zone"},
	"image": {"镜像"}, "version": {"版本"}, "flight": {"航班"}, "hotel": {"酒店"}, "page": {"页面", "文档"},
	"dashboard": {"看板", "仪表盘"},
}

// fillers may separate a parameter's name from its value and carry no meaning.
var fillers = set("the a an this that these those my our your is are was to of called named as = : be id number name 这个 那个 的 是 为 叫 叫做 名为 里 里的 中 中的 上 上的 下 下的 设为 改为 改成")

// common words are never values.
var common = set(`for with by and or but in on at from into than then so if when please show list get give find fetch meeting tell me us it its what which who how why where many much
 can could would should will do does did has have had there any all some new latest recent current currently open check look up search create make add set update change delete remove send write
 read run start stop restart view see need want last next past this today now i you we they not no logs log status info information details about per each every between during since until
 before after over under more less most least error errors warning again just also only right still yet out off down
 here everywhere somewhere anywhere nowhere he she him her them someone somebody anyone anybody everyone everybody nobody something anything everything nothing other others another both
 either neither such same soon later already ever never always often once tonight tomorrow yesterday ok okay yes thanks thank`)

// looks are the words with which a message begins that asks to see something.
var looks = lazily(`(?i)^(?:please |can you |could you |i want to |i need to |help me |let me |let's )*(?:show|list|find|fetch|search|look|see|view|read|count|display|tell me|explain|what|which|who|whose|how|where|when|why)\b|^(?:请|麻烦|你|能|可以|帮|给|我|想|要|一下)*(?:查|看|显示|列|搜|找|统计|告诉|说明|哪|谁|什么|怎么|多少|几|有没有|是否)`)

// removes are the words with which the name or the description of a tool begins that removes something.
var removes = lazily(`(?i)^(?:.*[_ -])?(?:delete|remove|erase|destroy|purge|wipe|uninstall|unregister|drop|discard|trash|forget|clear)(?:[_ -]|s\b|$)`)

// removal begins a message that asks to remove something.
var removal = lazily(`(?i)^(?:please |can you |could you |i want to |i need to |help me |let's )*(?:delete|remove|erase|destroy|purge|wipe|uninstall|get rid of)\b|^(?:请|麻烦|你|能|可以|帮|给|我|想|要|一下|把|将)*(?:删|移除|清除|清空|销毁|卸载)|^[请把将].{1,40}?(?:删除|删掉|移除|清除|销毁|卸载)`)
