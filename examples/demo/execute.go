package demo

import (
	"encoding/json"
	"net/http"
)

// executePath is the endpoint for a skill in a YAML file: arguments in, result out,
// without the envelope of /tools.
const executePath = "/execute"

// podSearch is the tool behind it. It is in no group: a skills folder provides it.
func podSearch() endpoint {
	return endpoint{
		name: "search_logs", verb: "logs", required: []string{"namespace", "pod"},
		properties: map[string]property{"namespace": {}, "pod": {}, "keyword": {}},
	}
}

// found is the result of a search in a pod's log.
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
	if json.Unmarshal(out.Data, &lines) != nil { // no lines were found
		out.Data = json.RawMessage("[]")
	}
	return found{c.args["namespace"], c.args["pod"], c.args["keyword"], out.Data}, nil
}
