package process

import "google.golang.org/protobuf/encoding/protowire"

// stdioData reads a message of go-plugin's service of stdout and stderr: field 1 is which, field 2 the bytes.
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
			if v, _ := protowire.ConsumeVarint(fields); v == 2 {
				channel = "stderr"
			}
		case number == 2 && kind == protowire.BytesType:
			data, _ = protowire.ConsumeBytes(fields)
		}
		if n = protowire.ConsumeFieldValue(number, kind, fields); n < 0 {
			return channel, data
		}
		fields = fields[n:]
	}
	return channel, data
}
