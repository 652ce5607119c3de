package hub_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/hub/hubtest"
)

// signer signs skills with a certificate that leads to a root.
type signer struct {
	t         *testing.T
	root      *x509.Certificate
	leaf      []byte
	key       *ecdsa.PrivateKey
	statement func(statement map[string]any)
}

func newSigner(t *testing.T, name string, until time.Time) *signer {
	t.Helper()
	rootKey, err1 := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	key, err2 := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name + " CA"}, NotBefore: until.AddDate(-2, 0, 0), NotAfter: until.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err3 := x509.CreateCertificate(rand.Reader, ca, ca, &rootKey.PublicKey, rootKey)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	root, err1 := x509.ParseCertificate(raw)
	cert := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: until.AddDate(-1, 0, 0), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature}
	leaf, err2 := x509.CreateCertificate(rand.Reader, cert, root, &key.PublicKey, rootKey)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return &signer{t: t, root: root, leaf: leaf, key: key}
}

// sign returns the signature of some files.
func (s *signer) sign(files map[string]string) string {
	s.t.Helper()
	var resources []map[string]string
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		digest := hubtest.Digest([]byte(files[name]))
		sum, _ := hex.DecodeString(digest)
		all.Write(sum)
		resources = append(resources, map[string]string{"name": name, "algorithm": "sha256", "digest": digest})
	}
	statement := map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": []any{map[string]any{"name": "greet", "digest": map[string]string{"sha256": hex.EncodeToString(all.Sum(nil))}}},
		"predicateType": "https://model_signing/signature/v1.0",
		"predicate": map[string]any{
			"serialization": map[string]any{"method": "files", "hash_type": "sha256", "allow_symlinks": false, "ignore_paths": []string{".git", ".gitignore"}},
			"resources":     resources,
		},
	}
	if s.statement != nil {
		s.statement(statement)
	}
	payload, err := json.Marshal(statement)
	if err != nil {
		s.t.Fatal(err)
	}
	kind := "application/vnd.in-toto+json"
	sum := sha512.Sum384(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload))
	sig, err := ecdsa.SignASN1(rand.Reader, s.key, sum[:])
	if err != nil {
		s.t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]any{
		"mediaType":            "application/vnd.dev.sigstore.bundle.v0.3+json",
		"verificationMaterial": map[string]any{"x509CertificateChain": map[string]any{"certificates": []any{map[string]any{"rawBytes": s.leaf}, map[string]any{"rawBytes": s.root.Raw}}}},
		"dsseEnvelope":         map[string]any{"payload": payload, "payloadType": kind, "signatures": []any{map[string]any{"sig": sig, "keyid": ""}}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(raw)
}

// TestSignatures installs signed skills, and refuses forged ones.
func TestSignatures(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good := newSigner(t, "ACME Skills", now.AddDate(1, 0, 0))
	stranger, expired := newSigner(t, "ACME Skills", now.AddDate(1, 0, 0)), newSigner(t, "ACME Skills", now.AddDate(0, 0, -1))
	forger := &signer{t: t, root: good.root, leaf: good.leaf, key: stranger.key}
	wrongSum := &signer{t: t, root: good.root, leaf: good.leaf, key: good.key, statement: func(s map[string]any) {
		s["subject"] = []any{map[string]any{"digest": map[string]string{"sha256": strings.Repeat("0", 64)}}}
	}}
	files := map[string]string{"SKILL.md": hubtest.Manifest("greet", "Greets people."), "a.md": "a"}
	with := func(signature string, more ...string) map[string]string {
		all := maps.Clone(files)
		all["skill.oms.sig"] = signature
		for i := 0; i+1 < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	missing := with(good.sign(with(".", "b.md", "b")))
	roots := x509.NewCertPool()
	roots.AddCert(good.root)
	roots.AddCert(expired.root)
	for name, c := range map[string]struct {
		files map[string]string
		roots *x509.CertPool
		state hub.SignatureState
		says  string
	}{
		"good":             {with(good.sign(files)), roots, hub.Verified, ""},
		"with Git's files": {with(good.sign(files), ".gitignore", "x"), roots, hub.Verified, ""},
		"none":             {files, roots, hub.Unsigned, ""},
		"nobody's trusted": {with(stranger.sign(files)), nil, hub.Unsigned, ""},
		"a stranger":       {with(stranger.sign(files)), roots, "", "does not lead to a trusted root"},
		"expired":          {with(expired.sign(files)), roots, "", "does not lead to a trusted root"},
		"another key":      {with(forger.sign(files)), roots, "", "not made with the key"},
		"changed":          {with(good.sign(files), "a.md", "b"), roots, "", "changed after it was signed"},
		"changed, no root": {with(stranger.sign(files), "a.md", "b"), nil, "", "changed after it was signed"},
		"added":            {with(good.sign(files), "b.md", "b"), roots, "", "not among the files that were signed"},
		"missing":          {missing, roots, "", "is missing"},
		"wrong sum":        {with(wrongSum.sign(files)), roots, "", "digest of all its files"},
		"no bundle":        {with("{}"), roots, "", "not a Sigstore bundle"},
		"no JSON":          {with("signed"), nil, "", "not a Sigstore bundle"},
	} {
		h := begin(t, hubtest.Skill{Name: "greet", Owner: "acme", Versions: []hubtest.Version{{Number: "1", Files: c.files}}})
		in := hub.New(hub.Config{Folder: h.dir, Roots: map[string]*x509.CertPool{"hub": c.roots}, Now: func() time.Time { return now }})
		done, err := in.Install(t.Context(), h.hub, hub.Ref{Name: "greet"}, hub.Options{Accept: true})
		if c.says != "" {
			if !errors.Is(err, hub.ErrRefused) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: got %v\nwant %q", name, err, c.says)
			}
			h.want()
			continue
		}
		if err == nil && (c.state == hub.Unsigned && c.roots != nil) != (len(done.Origin.Accepted) == 1) {
			t.Errorf("%s: accepted %v", name, done.Origin.Accepted)
		}
		if err != nil {
			t.Fatal(err)
		}
		if done.Origin.Signature != c.state {
			t.Errorf("done.Origin.Signature = %v, want %v", done.Origin.Signature, c.state)
		}
		if (c.state == hub.Verified) != (done.Origin.Signer == "ACME Skills") {
			t.Errorf("(c.state == hub.Verified) = %v, want %v", (c.state == hub.Verified), (done.Origin.Signer == "ACME Skills"))
		}
	}
}
