package embedding

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"

	"github.com/etui-run/etui/selection"
)

// header is the first line of the file. Vectors of another model or server cannot
// be compared with these.
type header struct {
	Model string `json:"model"`
	URL   string `json:"url"`
	// Dimensions are those of the configuration.
	Dimensions int `json:"dimensions,omitempty"`
}

// line is one vector: four bytes for each number, little endian.
type line struct {
	Hash   string `json:"hash"`
	Vector []byte `json:"vector"`
}

// maxLine bounds a line, in bytes: the longest vector in base64.
const maxLine = maxDimensions*4*4/3 + 1<<10

// load reads the vectors of the file. Vectors that it cannot read are computed
// again.
func (e *Embedder) load() map[hash][]float32 {
	known := map[hash][]float32{}
	if e.config.File == "" {
		return known
	}
	f, err := os.Open(e.config.File)
	if errors.Is(err, fs.ErrNotExist) {
		return known
	}
	if err != nil {
		e.log.Warn("embeddings: the file of vectors cannot be read", "error", err)
		return known
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxTools*maxLine))
	lines.Buffer(make([]byte, 64<<10), maxLine)
	var h header
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &h) != nil || h != e.header() {
		return known
	}
	for lines.Scan() && len(known) < maxTools {
		var l line
		var key hash
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			break
		}
		if n, err := hex.Decode(key[:], []byte(l.Hash)[:min(len(l.Hash), 2*len(key))]); err != nil || n != len(key) ||
			len(l.Vector) == 0 || len(l.Vector)%4 != 0 {
			break
		}
		v := make([]float32, len(l.Vector)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(l.Vector[4*i:]))
		}
		known[key] = v
	}
	return known
}

func (e *Embedder) header() header { return header{e.config.Model, e.server.url, e.config.Dimensions} }

// forget drops all vectors except those of a catalog, so that neither memory nor
// the file grows. It returns a copy of the rest. The caller holds the lock.
func (e *Embedder) forget(base *selection.Selector) map[hash][]float32 {
	keep := map[hash][]float32{}
	for entry := range base.Catalog().All() {
		key := hashOf(e.textOf(&entry.Definition))
		if v, ok := e.known[key]; ok {
			keep[key] = v
		}
	}
	e.known = keep
	return maps.Clone(keep)
}

// save writes vectors to the file. The caller must not hold the lock: requests do
// not wait for the disk.
func (e *Embedder) save(vectors map[hash][]float32) {
	if e.config.File == "" {
		return
	}
	if err := e.write(vectors); err != nil {
		e.log.Warn("embeddings: the vectors cannot be stored, they are computed again after the next start", "error",
			err)
	}
}

func (e *Embedder) write(vectors map[hash][]float32) error {
	if err := os.MkdirAll(filepath.Dir(e.config.File), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(e.config.File), ".embeddings-*") // readable by this user only
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(f)
	lines := json.NewEncoder(buffer)
	err = lines.Encode(e.header())
	for key, v := range vectors {
		raw := make([]byte, 0, 4*len(v))
		for _, x := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
		err = errors.Join(err, lines.Encode(line{hex.EncodeToString(key[:]), raw}))
	}
	if err = errors.Join(err, buffer.Flush(), f.Close()); err == nil {
		err = os.Rename(f.Name(), e.config.File)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
