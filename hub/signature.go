package hub

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/skill"
)

// SignatureState is what is known about the maker of a skill.
type SignatureState string

// The states. A skill with an invalid signature is refused.
const (
	// Unsigned means that there is no signature, or that it matches the files but
	// there are no roots to trust it by.
	Unsigned SignatureState = "unsigned"
	// Verified means that the signature matches the files and leads to a root.
	Verified SignatureState = "verified"
)

// signatureFile is the detached signature of a skill: a Sigstore bundle (v0.3)
// around an in-toto statement of the OpenSSF model signing format, which lists
// the SHA-256 of every file.
const signatureFile = "skill.oms.sig"

const maxSignature = 4 << 20

// bundle is the part of a signature that is read.
type bundle struct {
	MediaType            string `json:"mediaType"`
	VerificationMaterial struct {
		Chain struct {
			Certificates []rawCertificate `json:"certificates"`
		} `json:"x509CertificateChain"`
		Certificate rawCertificate `json:"certificate"`
	} `json:"verificationMaterial"`
	Envelope struct {
		Payload     []byte `json:"payload"`
		PayloadType string `json:"payloadType"`
		Signatures  []struct {
			Sig []byte `json:"sig"`
		} `json:"signatures"`
	} `json:"dsseEnvelope"`
}

type rawCertificate struct {
	RawBytes []byte `json:"rawBytes"`
}

// statement is the signed content.
type statement struct {
	Subject []struct {
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
	PredicateType string `json:"predicateType"`
	Predicate     struct {
		Serialization struct {
			Method      string   `json:"method"`
			HashType    string   `json:"hash_type"`
			IgnorePaths []string `json:"ignore_paths"`
		} `json:"serialization"`
		Resources []struct {
			Name, Algorithm, Digest string
		} `json:"resources"`
	} `json:"predicate"`
}

const (
	payloadType   = "application/vnd.in-toto+json"
	predicateType = "https://model_signing/signature/v1.0"
)

// checkSignature compares the files of a skill with its signature, if it has one.
// signer is the name in the certificate.
func (in *Installer) checkSignature(source string, folder *os.Root, files map[string]string) (state SignatureState,
	signer string, err error) {
	roots := in.c.Roots[source]
	raw, err := skill.ReadFile(folder, signatureFile, maxSignature)
	if errors.Is(err, fs.ErrNotExist) {
		return Unsigned, "", nil
	}
	if err == nil {
		signer, err = verify(raw, files, roots, in.c.Now())
	}
	if err != nil {
		return "", "", phrase.Errorf("the signature in %s is not valid: %w", signatureFile, err)
	}
	if roots == nil {
		return Unsigned, "", nil
	}
	return Verified, signer, nil
}

// verify checks a signature. Without roots, anybody may have made it.
func verify(raw []byte, files map[string]string, roots *x509.CertPool, now time.Time) (signer string, err error) {
	var b bundle
	if err := json.Unmarshal(raw, &b); err != nil {
		return "", phrase.Errorf("it is not a Sigstore bundle: %w", err)
	}
	if !strings.HasPrefix(b.MediaType, "application/vnd.dev.sigstore.bundle") ||
		b.Envelope.PayloadType != payloadType || len(b.Envelope.Signatures) != 1 {
		return "", phrase.Errorf("it is not a Sigstore bundle with one signed in-toto statement")
	}
	leaf, err := b.signer(roots, now)
	if err != nil {
		return "", err
	}
	if !signed(leaf, b.Envelope.PayloadType, b.Envelope.Payload, b.Envelope.Signatures[0].Sig) {
		return "", phrase.Errorf("it was not made with the key of its certificate")
	}
	return leaf.Subject.CommonName, covers(b.Envelope.Payload, files)
}

// signer returns the signer's certificate, which must lead to a root.
func (b *bundle) signer(roots *x509.CertPool, now time.Time) (*x509.Certificate, error) {
	list := b.VerificationMaterial.Chain.Certificates
	if len(list) == 0 {
		list = []rawCertificate{b.VerificationMaterial.Certificate}
	}
	var leaf *x509.Certificate
	between := x509.NewCertPool()
	for i, raw := range list[:min(len(list), 10)] {
		c, err := x509.ParseCertificate(raw.RawBytes)
		if err != nil {
			return nil, phrase.Errorf("its certificate cannot be read: %w", err)
		}
		if i == 0 {
			leaf = c
		} else {
			between.AddCert(c)
		}
	}
	if roots == nil {
		return leaf, nil
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return nil, phrase.Errorf("its certificate does not lead to a trusted root: %w", err)
	}
	if leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 || leaf.IsCA {
		return nil, phrase.Errorf("its certificate is not for signing")
	}
	return leaf, nil
}

// signed checks a DSSE signature, which covers the payload and its type.
func signed(leaf *x509.Certificate, kind string, payload, sig []byte) bool {
	message := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
	return slices.ContainsFunc(algorithms,
		func(a x509.SignatureAlgorithm) bool { return leaf.CheckSignature(a, message, sig) == nil })
}

// algorithms are those that a signature may use. The certificate's key decides
// which of them can match.
var algorithms = []x509.SignatureAlgorithm{
	x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512, x509.PureEd25519, x509.SHA256WithRSA,
	x509.SHA256WithRSAPSS,
}

// covers compares a signed statement with the files: it must list exactly those
// that are there.
func covers(payload []byte, files map[string]string) error {
	var s statement
	if err := json.Unmarshal(payload, &s); err != nil {
		return phrase.Errorf("its statement cannot be read: %w", err)
	}
	how := s.Predicate.Serialization
	if s.PredicateType != predicateType || how.Method != "files" || how.HashType != "sha256" || len(s.Subject) != 1 {
		return phrase.Errorf("its statement is not one about files with SHA-256")
	}
	listed := map[string]string{}
	all := sha256.New()
	for _, r := range s.Predicate.Resources {
		sum, err := hex.DecodeString(r.Digest)
		if err != nil || r.Algorithm != "sha256" || len(sum) != sha256.Size || listed[r.Name] != "" {
			return phrase.Errorf("its statement about %s is not supported", archive.Quote(r.Name))
		}
		listed[r.Name] = r.Digest
		_, _ = all.Write(sum)
	}
	if want, err := hex.DecodeString(s.Subject[0].Digest["sha256"]); err != nil || !bytes.Equal(want, all.Sum(nil)) {
		return phrase.Errorf("the digest of all its files is wrong")
	}
	for _, name := range drift(listed, files) {
		switch {
		case listed[name] != "" && files[name] != "":
			return phrase.Errorf("%s was changed after it was signed", archive.Quote(name))
		case listed[name] != "":
			return phrase.Errorf("%s was signed, but is missing", archive.Quote(name))
		case name != signatureFile && name != registryMeta && !ignored(name, how.IgnorePaths):
			return phrase.Errorf("%s is not among the files that were signed", archive.Quote(name))
		}
	}
	return nil
}

// gitFiles are the names that a signature may leave out.
var gitFiles = []string{".git", ".gitattributes", ".gitignore", ".github"}

// ignored reports files that the signature leaves out. It may leave out only
// those of Git.
func ignored(name string, paths []string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains(paths, top) && slices.Contains(gitFiles, top)
}
