package feishu

// What tests reach beside the public API.
var (
	DecodeFrame = func(b []byte) ([]byte, error) {
		f, err := decodeFrame(b)
		if err != nil {
			return nil, err
		}
		return f.encode(), nil
	}
	ReadContent = readContent
	Unseal      = func(encryptKey, sealed string) ([]byte, error) { return unseal(aesKey(encryptKey), sealed) }
	Render      = dialect().Render
	Length      = (&Channel{dialect: dialect()}).length
)

// MaxText is the bound of a text.
const MaxText = maxText
