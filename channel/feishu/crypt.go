package feishu

import (
	"crypto/aes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/etui-run/etui/channel/platform"
)

// The platform's scheme (接收事件, encrypt-key-encryption-configuration-case): AES-256-CBC
// with the SHA-256 of the Encrypt Key, padded by PKCS#7, in Base64 after the initialization
// vector.

func aesKey(encryptKey string) [32]byte { return sha256.Sum256([]byte(encryptKey)) }

// unseal decrypts what the platform has sent.
func unseal(key [32]byte, sealed string) ([]byte, error) {
	return platform.Unseal(key[:], nil, sealed, aes.BlockSize)
}

// sign is the signature of a delivery, X-Lark-Signature (the same page).
func sign(timestamp, nonce, encryptKey string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(timestamp + nonce + encryptKey))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
