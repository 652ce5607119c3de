package model

// Silence is what a person reads in place of an answer that is empty, twice, in Chinese or English.
func Silence(why Stop, chinese bool) string {
	says := [2]string{
		"The model gave no answer, twice. Please try again, or say it in other words.",
		"模型两次都没有给出回答。请重试，或换一种说法。",
	}
	switch why {
	case Length:
		says = [2]string{
			"The model reached its limit of tokens before it said anything. Please ask for less at once, or raise the limit of the model.",
			"模型还没有说出内容就达到了 token 上限。请一次少问一些，或提高该模型的上限。",
		}
	case Refused:
		says = [2]string{"The model declined to answer.", "模型拒绝回答。"}
	}
	if chinese {
		return says[1]
	}
	return says[0]
}
