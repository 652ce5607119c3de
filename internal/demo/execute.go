package demo

import (
	"encoding/json"
	"net/http"
)

// executePath is where the service answers as one that a skill of a YAML file
// calls: arguments in, result out, without the frame of /tools.
const executePath = "/execute"

// podSearch is the tool that stands there. It is in no group: a skills folder
// brings it.
func podSearch() endpoint {
	return endpoint{
		name: "search_logs", verb: "logs", required: []string{"namespace", "pod"},
		properties: map[string]property{"namespace": {}, "pod": {}, "keyword": {}},
	}
}

// found is what a search of a pod's log finds.
type found struct {
	Namespace string          `json:"namespace"`
	Pod       string          `json:"pod"`
	Keyword   string          `json:"keyword,omitempty"`
	Lines     json.RawMessage `json:"lines"`
}

// execute answers a search of a pod's log.
func (s *service) execute(w http.ResponseWriter, r *http.Request) (found, error) {
	c, err := s.readCall(w, r, podSearch())
	if err != nil {
		return found{}, err
	}
	c.args["query"] = c.args["keyword"]
	out, err := c.logs()
	if err != nil {
		return found{}, err
	}
	var lines []logLine
	if json.Unmarshal(out.Data, &lines) != nil { // then it says that there are none
		out.Data = json.RawMessage("[]")
	}
	return found{c.args["namespace"], c.args["pod"], c.args["keyword"], out.Data}, nil
}
