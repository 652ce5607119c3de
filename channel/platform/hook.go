package platform

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxAge is how far the time of a delivery may be from now.
const maxAge = 5 * time.Minute

// Refuse answers a request with a status and its text. 503 asks for the same again.
func Refuse(w http.ResponseWriter, status int) {
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	http.Error(w, http.StatusText(status), status)
}

// Posted returns the body of a delivery, of which nothing is proved yet. If it is not posted,
// too large or not whole, Posted has refused it and returns false.
func Posted(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, ok bool) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		Refuse(w, http.StatusMethodNotAllowed)
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	switch {
	case err == nil:
		return body, true
	case errors.As(err, new(*http.MaxBytesError)):
		Refuse(w, http.StatusRequestEntityTooLarge)
	default: // it may arrive whole the next time
		Refuse(w, http.StatusServiceUnavailable)
	}
	return nil, false
}

// Fresh reports whether a number of seconds since 1970 is at most five minutes away from now.
func Fresh(seconds string, now time.Time) bool {
	n, err := strconv.ParseInt(seconds, 10, 64)
	return err == nil && now.Sub(time.Unix(n, 0)).Abs() <= maxAge
}

// Equal compares secrets. How long it takes says nothing about where they differ.
func Equal(got, want string) bool { return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1 }

// Deliver hands over a message that a request has brought, and reports whether it is safe:
// then the caller acknowledges it. If it is not, Deliver has answered with 503, so that the
// platform sends it again.
func (in *Intake) Deliver(
	w http.ResponseWriter, r *http.Request, chat string, take func(ctx context.Context) error,
) bool {
	err := in.Submit(r.Context(), chat, take)
	if err == nil {
		return true
	}
	if r.Context().Err() != nil {
		return false // nobody waits for an answer. The message may still be taken, and is known when it arrives again
	}
	Refuse(w, http.StatusServiceUnavailable)
	return false
}

// ErrSealed says that a text cannot be decrypted with a key.
var ErrSealed = errors.New("it cannot be decrypted with this key")

// Unseal decrypts Base64 of AES in CBC mode, padded by PKCS#7 to blocks of so many bytes. Without
// an iv, the text begins with it.
func Unseal(key, iv []byte, sealed string, block int) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(sealed)
	if err == nil && iv == nil && len(data) >= aes.BlockSize {
		iv, data = data[:aes.BlockSize], data[aes.BlockSize:]
	}
	if err != nil || len(data) < aes.BlockSize || len(data)%aes.BlockSize != 0 {
		return nil, ErrSealed
	}
	c, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	cipher.NewCBCDecrypter(c, iv).CryptBlocks(data, data)
	pad := int(data[len(data)-1])
	if pad < 1 || pad > min(block, len(data)) {
		return nil, ErrSealed
	}
	for _, b := range data[len(data)-pad:] {
		if int(b) != pad {
			return nil, ErrSealed
		}
	}
	return data[:len(data)-pad], nil
}
