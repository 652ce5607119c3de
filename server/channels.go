package server

import (
	"net/http"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/pairing"
	"github.com/etui-run/etui/server/wire"
)

// ChannelStatus is the answer about all channels.
type ChannelStatus struct {
	Channels []channel.State `json:"channels"`
	// Paired are the people who were let in by a code, and Waiting those who have one.
	Paired  []pairing.Pairing `json:"paired"`
	Waiting []pairing.Pairing `json:"waiting"`
}

// Code is what somebody was given who wants to write to a channel.
type Code struct {
	Code string `json:"code"`
}

// ChannelMessage is a text of an operator's for a chat.
type ChannelMessage struct {
	channel.Address
	Text string `json:"text"`
}

// ChannelAccount is what the platform of a channel says.
type ChannelAccount struct {
	Name    string `json:"name"`
	Account string `json:"account"`
}

// forgetUser removes what is kept of a person, and answers with an [erase.Report].
func (s *Server) forgetUser(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	if s.config.Eraser == nil {
		wire.Refuse(w, http.StatusNotImplemented, "this program cannot forget people")
		return
	}
	report, err := s.config.Eraser.Erase(r.Context(), r.PathValue("user"))
	wire.Answer(w, report, err)
}

func (s *Server) logIn(w http.ResponseWriter, r *http.Request) { s.config.Logins.ServeHTTP(w, r) }

func (s *Server) listChannels(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	x := ChannelStatus{Channels: s.config.Channels.States()}
	var err error
	x.Paired, x.Waiting, err = s.config.Channels.Pairings(r.Context())
	wire.Answer(w, x, err)
}

func (s *Server) pairChannel(w http.ResponseWriter, r *http.Request) {
	var c Code
	if !wire.Read(w, r, &c) {
		return
	}
	p, err := s.config.Channels.Pair(r.Context(), c.Code)
	wire.Answer(w, p, err)
}

func (s *Server) unpairChannel(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	name, user := r.PathValue("name"), r.PathValue("user")
	wire.Answer(w, pairing.Pairing{Channel: name, User: user}, s.config.Channels.Unpair(r.Context(), name, user))
}

func (s *Server) sayChannel(w http.ResponseWriter, r *http.Request) {
	var m ChannelMessage
	if !wire.Read(w, r, &m) {
		return
	}
	if m.Chat == "" || m.Text == "" {
		wire.Refuse(w, http.StatusBadRequest, "a chat and a text are needed")
		return
	}
	if err := s.config.Channels.Say(r.Context(), r.PathValue("name"), m.Address, m.Text); err != nil {
		s.failChannel(w, err)
		return
	}
	wire.Reply(w, http.StatusOK, m)
}

func (s *Server) testChannel(w http.ResponseWriter, r *http.Request) {
	if !wire.Read(w, r, &struct{}{}) {
		return
	}
	name := r.PathValue("name")
	who, err := s.config.Channels.Probe(r.Context(), name)
	if err != nil {
		s.failChannel(w, err)
		return
	}
	wire.Reply(w, http.StatusOK, ChannelAccount{name, who})
}

// failChannel answers with what a platform says. It is for operators.
func (s *Server) failChannel(w http.ResponseWriter, err error) {
	if status, _ := wire.ProblemOf(err); status != http.StatusInternalServerError {
		wire.Fail(w, err)
		return
	}
	wire.Refuse(w, http.StatusBadGateway, err.Error())
}
