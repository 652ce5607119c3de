package mattermost_test

import (
	"testing"

	"github.com/etui-run/etui/channel/channeltest"
)

func TestChannel(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return newServer(t) })
}
