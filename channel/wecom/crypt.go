package wecom

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/etui-run/etui/channel/platform"
)

// The platform's scheme (加解密方案说明, document/path/90968): AES-256-CBC, padded by PKCS#7 to
// blocks of 32 bytes, of 16 random bytes, the length of the message, the message, and the
// ID of the company.
const (
	keySize   = 32
	padBlock  = 32
	randomLen = 16
	headLen   = randomLen + 4
)

// sign is the signature of a delivery. Token is the secret in it.
func sign(token, timestamp, nonce, encrypted string) string {
	parts := []string{token, timestamp, nonce, encrypted}
	slices.Sort(parts)
	sum := sha1.Sum([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(sum[:])
}

// open decrypts what the platform has sent to a company.
func open(key []byte, corp, encrypted string) ([]byte, error) {
	data, err := platform.Unseal(key, key[:aes.BlockSize], encrypted, padBlock)
	if err != nil {
		return nil, err
	}
	if len(data) < headLen {
		return nil, platform.ErrSealed
	}
	size := binary.BigEndian.Uint32(data[randomLen:headLen])
	if uint64(size) > uint64(len(data)-headLen) {
		return nil, platform.ErrSealed
	}
	text, receiver := data[headLen:headLen+int(size)], data[headLen+int(size):]
	if string(receiver) != corp {
		return nil, errors.New("the text is for another company")
	}
	return text, nil
}

// seal encrypts an answer to the platform.
func seal(key []byte, corp string, text []byte) (string, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	data := make([]byte, randomLen, headLen+len(text)+len(corp)+padBlock)
	_, _ = rand.Read(data) // never fails
	data = binary.BigEndian.AppendUint32(data, uint32(len(text)))
	data = append(append(data, text...), corp...)
	pad := padBlock - len(data)%padBlock
	data = append(data, bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, key[:aes.BlockSize]).CryptBlocks(data, data)
	return base64.StdEncoding.EncodeToString(data), nil
}
