package platform

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
)

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
