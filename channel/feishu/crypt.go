package feishu

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
)

// The platform's scheme (接收事件, encrypt-key-encryption-configuration-case): AES-256-CBC
// with the SHA-256 of the Encrypt Key, padded by PKCS#7, in Base64 after the initialization
// vector.

func aesKey(encryptKey string) [32]byte { return sha256.Sum256([]byte(encryptKey)) }

var errSealed = errors.New("it cannot be decrypted with this Encrypt Key")

// unseal decrypts what the platform has sent.
func unseal(key [32]byte, sealed string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil || len(data) < 2*aes.BlockSize || len(data)%aes.BlockSize != 0 {
		return nil, errSealed
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	iv, text := data[:aes.BlockSize], data[aes.BlockSize:]
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(text, text)
	pad := int(text[len(text)-1])
	if pad < 1 || pad > aes.BlockSize {
		return nil, errSealed
	}
	for _, b := range text[len(text)-pad:] {
		if int(b) != pad {
			return nil, errSealed
		}
	}
	return text[:len(text)-pad], nil
}

// sign is the signature of a delivery, X-Lark-Signature (the same page).
func sign(timestamp, nonce, encryptKey string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(timestamp + nonce + encryptKey))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
