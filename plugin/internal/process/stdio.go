package process

import "google.golang.org/protobuf/encoding/protowire"

// stdioData decodes a message of go-plugin's service for stdout and stderr. Field 1 says which of
// both it is, field 2 has the bytes.
func stdioData(fields []byte) (channel string, data []byte) {
	channel = "stdout"
	for len(fields) > 0 {
		number, kind, n := protowire.ConsumeTag(fields)
		if n < 0 {
			return channel, data
		}
		fields = fields[n:]
		switch {
		case number == 1 && kind == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(fields)
			if v == 2 {
				channel = "stderr"
			}
		case number == 2 && kind == protowire.BytesType:
			data, _ = protowire.ConsumeBytes(fields)
		}
		n = protowire.ConsumeFieldValue(number, kind, fields)
		if n < 0 {
			return channel, data
		}
		fields = fields[n:]
	}
	return channel, data
}
