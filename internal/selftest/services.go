package selftest

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"runtime"
)

// services are what listens on this machine and commands must not reach. Whoever
// connects, or sends a packet, is told the token.
type services struct{ tcp, unix, abstract, udp string }

func (s *stage) listen(ctx context.Context) (addresses services, err error) {
	var config net.ListenConfig
	serve := func(network, address string) (string, error) {
		l, err := config.Listen(ctx, network, address)
		if err != nil {
			return "", err
		}
		s.close = append(s.close, l.Close)
		go s.welcome(l)
		return l.Addr().String(), nil
	}
	if addresses.tcp, err = serve("tcp", "127.0.0.1:0"); err != nil {
		return addresses, err
	}
	if addresses.unix, err = serve("unix", filepath.Join(s.dir, "s")); err != nil {
		return addresses, err
	}
	if err := anybodyMayConnect(addresses.unix); err != nil {
		return addresses, err
	}
	if runtime.GOOS == "linux" {
		if addresses.abstract, err = serve("unix", "@"+filepath.Base(s.dir)); err != nil {
			return addresses, err
		}
	}
	packets, err := config.ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return addresses, err
	}
	s.close = append(s.close, packets.Close)
	go s.answer(packets)
	addresses.udp = packets.LocalAddr().String()
	return addresses, nil
}

// welcome tells the token to all who connect, until the listener is closed.
func (s *stage) welcome(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, s.token+"\n") // it may have gone
		c.Close()
	}
}

// answer tells the token to all who send a packet, until the socket is closed.
func (s *stage) answer(packets net.PacketConn) {
	var b [16]byte
	for {
		_, from, err := packets.ReadFrom(b[:])
		if err != nil {
			return
		}
		_, _ = packets.WriteTo([]byte(s.token), from) // it may have gone
	}
}
