package builtin

import (
	"context"
	"fmt"
	"net/http"
	"path"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// sendFileInput are the arguments of the tool send_file.
type sendFileInput struct {
	// Path of the file in the workspace
	Path string `json:"path"`
}

// SendFile is the tool with which a model gives a file of the workspace to the user. It is
// for agents whose replies go to a channel.
func (f *Files) SendFile() tool.Tool {
	return tool.Func(tool.Definition{
		Name: "send_file", Description: "Sends a file of the workspace to the user, together with your final reply: a chart, a document, an archive.",
		Translations: map[string]string{"zh": "把工作区中的文件随最终回复一起发送给用户。"},
		Aliases:      []string{"attach", "send me the chart", "give a file", "发送文件", "发图片"},
		Groups:       []string{"file", "channel"}, Risk: tool.Read, Source: "channel",
	}, func(_ context.Context, in sendFileInput) (chat.Result, error) {
		s, err := f.find(in.Path)
		if err != nil {
			return chat.Result{}, err
		}
		defer s.close()
		data, err := s.large()
		if err != nil {
			return chat.Result{}, err
		}
		if len(data) == 0 {
			return chat.Result{}, fmt.Errorf("%s is empty", s.shown)
		}
		file := chat.File{Name: path.Base(s.shown), MediaType: http.DetectContentType(data), Data: data}
		return chat.Result{Text: s.shown + " goes to the user with your final reply.",
			View: &chat.View{Files: []chat.File{file}}}, nil
	})
}
