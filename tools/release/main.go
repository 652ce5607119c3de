// Release builds what users install, from the repository's root:
//
//	go -C tools/release run . -version v1.2.3 -time 1767225600
//
// For each platform it makes an archive, for Linux also a deb, an rpm, and one container
// image for all its platforms, as an OCI layout in a tar file; and SHA256SUMS of them all.
// The same source, version, time and Go give the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	var r release
	flag.StringVar(&r.version, "version", "", "version, as v1.2.3")
	seconds := flag.Int64("time", 0, "time of all files, in seconds since 1970: that of the commit")
	flag.StringVar(&r.out, "out", "dist", "folder for the results, in the repository")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "platforms")
	flag.Parse()
	r.time = time.Unix(*seconds, 0).UTC()
	r.platforms = strings.Split(*platforms, ",")
	if !strings.HasPrefix(r.version, "v") || *seconds == 0 {
		log.Fatal("-version v1.2.3 and -time are needed; make release sets both")
	}
	if err := r.run(); err != nil {
		log.Fatal(err)
	}
}

// release is one run.
type release struct {
	version   string
	time      time.Time
	out       string
	platforms []string

	work, extras string // folders that are removed at the end
}

func (r *release) run() (err error) {
	if err := os.Chdir("../.."); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "etui-release"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if err := r.makeExtras(); err != nil {
		return err
	}
	var images []mutate.IndexAddendum
	for _, platform := range r.platforms {
		goos, arch, _ := strings.Cut(platform, "/")
		program, err := r.build(goos, arch)
		if err != nil {
			return err
		}
		if err := r.archive(goos, arch, program); err != nil {
			return err
		}
		if goos != "linux" {
			continue
		}
		if err := r.packages(arch, program); err != nil {
			return err
		}
		image, err := r.image(arch, program)
		if err != nil {
			return err
		}
		images = append(images, image)
	}
	if err := r.layout(images); err != nil {
		return err
	}
	return r.sums()
}

// name is the name of a result: etui_1.2.3_linux_amd64.deb.
func (r *release) name(rest string) string {
	return filepath.Join(r.out, "etui_"+strings.TrimPrefix(r.version, "v")+"_"+rest)
}

// build compiles etui, and returns the program's path.
func (r *release) build(goos, arch string) (string, error) {
	program := filepath.Join(r.work, goos+"_"+arch, "etui")
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -buildid= -X main.stamp="+r.version, "-o", program, "./cmd/etui")
	c.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1",
		"GOARM64=v8.0", "GOEXPERIMENT=")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("building for %s/%s: %w", goos, arch, err)
	}
	return program, nil
}

// makeExtras lets etui write its man page and its completions.
func (r *release) makeExtras() error {
	program, err := r.build(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	r.extras = filepath.Join(r.work, "extras")
	if err := os.Mkdir(r.extras, 0o755); err != nil {
		return err
	}
	for name, args := range map[string][]string{"etui.1": {"man"}, "etui.bash": {"completion", "bash"},
		"_etui": {"completion", "zsh"}, "etui.fish": {"completion", "fish"}} {
		c := exec.Command(program, args...)
		c.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
		text, err := c.Output()
		if err != nil {
			return fmt.Errorf("etui %s: %w", strings.Join(args, " "), err)
		}
		if err := os.WriteFile(filepath.Join(r.extras, name), text, 0o644); err != nil {
			return err
		}
		if name == "etui.1" {
			var packed bytes.Buffer
			z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
			if _, err := z.Write(text); err != nil {
				return err
			}
			if err := errors.Join(z.Close(),
				os.WriteFile(filepath.Join(r.extras, name+".gz"), packed.Bytes(), 0o644)); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry is something in an archive.
type entry struct {
	name string // a folder ends in a slash
	from string // a file; if empty, text
	text []byte
	mode int64
	uid  int
}

// writeTar writes entries with the release's time.
func (r *release) writeTar(w io.Writer, entries []entry) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Uid: e.uid, Gid: e.uid, ModTime: r.time, Typeflag: tar.TypeReg,
			Format: tar.FormatPAX}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if e.from != "" {
			var err error
			if e.text, err = os.ReadFile(e.from); err != nil {
				return err
			}
		}
		h.Size = int64(len(e.text))
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.text); err != nil {
			return err
		}
	}
	return t.Close()
}

// archive makes the archive of a platform.
func (r *release) archive(goos, arch, program string) error {
	folder := strings.TrimSuffix(filepath.Base(r.name(goos+"_"+arch)), ".") + "/"
	entries := []entry{{name: folder, mode: 0o755}, {name: folder + "etui", from: program, mode: 0o755}}
	for _, file := range []string{"LICENSE", "README.md", "CHANGELOG.md", "packaging/etui.service",
		"packaging/compose.yaml", "packaging/compose-postgres.yaml"} {
		entries = append(entries, entry{name: folder + filepath.Base(file), from: file, mode: 0o644})
	}
	for _, file := range []string{"etui.1", "etui.bash", "_etui", "etui.fish"} {
		entries = append(entries, entry{name: folder + file, from: filepath.Join(r.extras, file), mode: 0o644})
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err := errors.Join(r.writeTar(z, entries), z.Close()); err != nil {
		return err
	}
	return os.WriteFile(r.name(goos+"_"+arch+".tar.gz"), packed.Bytes(), 0o644)
}

// packages makes the deb and the rpm of an architecture.
func (r *release) packages(arch, program string) error {
	values := map[string]string{"ARCH": arch, "VERSION": r.version, "DIR": filepath.Dir(program), "EXTRAS": r.extras}
	config, err := nfpm.ParseFileWithEnvMapping("packaging/nfpm.yaml", func(name string) string { return values[name] })
	if err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		info, err := config.Get(format)
		if err != nil {
			return err
		}
		info = nfpm.WithDefaults(info)
		info.MTime = r.time
		// The paths are in a folder of its own for each run, and that one's times do not count.
		for _, c := range info.Contents {
			c.Source = os.Expand(c.Source, func(name string) string { return values[name] })
			if c.FileInfo == nil {
				c.FileInfo = &files.ContentFileInfo{Mode: 0o644}
			}
			c.FileInfo.MTime = r.time
			if c.FileInfo.Mode == 0 {
				c.FileInfo.Mode = 0o644
			}
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		if err := packager.Package(info, &packed); err != nil {
			return fmt.Errorf("making the %s for %s: %w", format, arch, err)
		}
		if err := os.WriteFile(r.name("linux_"+arch+"."+format), packed.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// user is whom the container runs as.
const user = 63884

// image makes the container image of an architecture: etui, the root certificates that
// Go's team collects, and the folders of the workspace and the state.
func (r *release) image(arch, program string) (mutate.IndexAddendum, error) {
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // a file cannot say that a root is trusted in part
			if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
				return mutate.IndexAddendum{}, err
			}
		}
	}
	var layer bytes.Buffer
	if err := r.writeTar(&layer, []entry{
		{name: "etc/", mode: 0o755}, {name: "etc/etui/", mode: 0o755}, {name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/group", mode: 0o644, text: fmt.Appendf(nil, "root:x:0:\netui:x:%d:\n", user)},
		{name: "etc/passwd", mode: 0o644,
			text: fmt.Appendf(nil, "root:x:0:0:root:/root:/sbin/nologin\netui:x:%d:%[1]d:etui:/var/lib/etui:/sbin/nologin\n", user)},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: certificates.Bytes()},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755}, {name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/etui", from: program, mode: 0o755},
		{name: "usr/share/", mode: 0o755}, {name: "usr/share/doc/", mode: 0o755},
		{name: "usr/share/doc/etui/", mode: 0o755},
		{name: "usr/share/doc/etui/copyright", from: "LICENSE", mode: 0o644},
		{name: "var/", mode: 0o755}, {name: "var/lib/", mode: 0o755}, {name: "var/lib/etui/", mode: 0o700, uid: user},
		{name: "workspace/", mode: 0o755, uid: user},
	}); err != nil {
		return mutate.IndexAddendum{}, err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser,
		error) {
		return io.NopCloser(bytes.NewReader(layer.Bytes())), nil
	},
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return mutate.IndexAddendum{}, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image,
		mutate.Addendum{Layer: l, History: v1.History{Created: v1.Time{Time: r.time},
			CreatedBy: "make release"}}); err != nil {
		return mutate.IndexAddendum{}, err
	}
	image, err = mutate.ConfigFile(image, configured(image, arch, r))
	platform := &v1.Platform{OS: "linux", Architecture: arch}
	return mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}}, err
}

// configured is the image's configuration with what runs and as whom.
func configured(image v1.Image, arch string, r *release) *v1.ConfigFile {
	c, err := image.ConfigFile()
	if err != nil {
		log.Fatal(err)
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Created = "linux", arch, v1.Time{Time: r.time}
	c.Config = v1.Config{
		User: fmt.Sprintf("%d:%[1]d", user), WorkingDir: "/workspace",
		Env: []string{
			"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/var/lib/etui",
			"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
			"ETUI_CONFIG=/etc/etui/etui.yaml", "ETUI_TRUST=/etc/etui/etui.yaml", "ETUI_WORKSPACE=/workspace",
			"ETUI_STATE=/var/lib/etui", "ETUI_LISTEN=0.0.0.0:3884",
			"ETUI_SANDBOX_MODE=none", // there are no programs; packaging/Containerfile adds some
		},
		Entrypoint: []string{"/usr/bin/etui"}, Cmd: []string{"serve"},
		ExposedPorts: map[string]struct{}{"3884/tcp": {}},
		Volumes:      map[string]struct{}{"/workspace": {}, "/var/lib/etui": {}},
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title": "etui", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.source":   "https://github.com/etui-run/etui",
		},
	}
	return c
}

// layout writes the images as an OCI layout in a tar file.
func (r *release) layout(images []mutate.IndexAddendum) error {
	if len(images) == 0 {
		return nil
	}
	folder := filepath.Join(r.work, "image")
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(mutate.AppendManifests(empty.Index, images...), types.OCIImageIndex)
	annotations := map[string]string{"org.opencontainers.image.ref.name": "latest",
		"io.containerd.image.name": "etui:latest"}
	if err := path.AppendIndex(index, layout.WithAnnotations(annotations)); err != nil {
		return err
	}
	var entries []entry
	err = filepath.WalkDir(folder, func(file string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(folder, file)
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir():
			entries = append(entries, entry{name: name + "/", mode: 0o755})
		default:
			entries = append(entries, entry{name: name, from: file, mode: 0o644})
		}
		return nil
	})
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := r.writeTar(&packed, entries); err != nil {
		return err
	}
	return os.WriteFile(r.name("image.tar"), packed.Bytes(), 0o644)
}

// sums writes SHA256SUMS, as sha256sum -c reads it.
func (r *release) sums() error {
	results, err := filepath.Glob(filepath.Join(r.out, "*"))
	if err != nil {
		return err
	}
	slices.Sort(results)
	var b strings.Builder
	for _, path := range results {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(text), filepath.Base(path))
	}
	fmt.Print(b.String())
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}
