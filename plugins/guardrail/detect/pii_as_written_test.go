package detect_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A comma parts columns; only what can be one number with it is one.
func TestPIIInRowsOfATable(t *testing.T) {
	for _, text := range []string{
		"‹4012888888881881›,12/27", "7,‹4012 8888 8888 1881›,123", "1,‹078-05-1126›,12",
		"3,‹10.0.0.7›,ok", "5,‹415-555-0132›,33", "12,‹+49 30 1234567›,3", "5,‹(415) 555-0132›,3",
		"7,‹DE89370400440532013000›,33",
		"id,ip\n1,‹203.0.113.7›,22", "1,234,567", "12,345.67", "8 999 999,50", "1,234.5",
		"89999999,5",
	} {
		same(t, text)
	}
}

func TestPIIVersionsAreNoAddresses(t *testing.T) {
	for _, text := range []string{
		"127.0.0.1:8080", "0.0.0.0", "netmask 255.255.255.0", "‹127.64.169.66›", "12.4.3.1",
		"openssl 3.0.2.1", "nginx/1.18.0.1", "numpy==1.26.2.0", ">=2.0.0.1", "foo-1.2.3.4.jar",
		"foo_1.2.3.4_amd64.deb", "upgrade to 10.2.4.0", "tag 1.2.3.4",
		"ping ‹12.4.3.1›", "‹12.4.3.1›:8080", "http://‹12.4.3.1›/a", "‹12.4.3.0›/24",
		"ssh root@‹12.4.3.1›", "server ‹3.0.2.1› is down", "‹8.8.8.8›",
		"the build server ‹192.168.1.5›", "‹10.0.0.1›", "update from ‹172.16.0.9›",
	} {
		same(t, text)
	}
}

func TestPIIAsPeopleWriteIt(t *testing.T) {
	for _, text := range []string{
		"‹mt84 malt 0110 0001 2345 mtlc ast0 01s›", "iban ‹ro49 aaaa 1b31 0075 9384 0000›",
		"‹de89 3704 0044 0532 0130 00›!", "de89 3704 0044 0532 0130 001",
		"git@github.com:org/repo.git", "git clone git@example.org:a/b", "mail ‹gitta@example.org›",
		"ops AB123456C", "‹AA 12 34 56 B›", "NINO ‹AB123456C›", "ref AB1234563",
		"DEA number ‹AB1234563›",
		"12 High Street\n‹415-555-0132›", "High Street 415-555-0132", "Mobil: ‹+49 30/3737111›",
		"‹+36 70/275-5143›", "fax: ‹07796-3-0620›", "my phone: ‹0036509895080›", "0036509895080",
		"line ‹415-555-0132 x306›", "line 415-555-0132",
		"Rufen Sie uns unter ‹60637464› an", "order 28907679999", "ABN ‹28907679999›",
		"EAN 4013076287456", "row 12: 0.032365 0.344289 0.177951", "‹0032 2 555 12 12›",
		"page_id: 508645943003979", "card ‹508645943003979›", "the ring 5551234",
		"Contact us (c) 2006-2009 by phone 2007-2009", "phone ‹2009-2006›",
		"host[‹e15b:e7bf:6b2c:a6bf:e91e:8b8c:24bb:5c23›]", "list[1::2] and tail[::1]",
	} {
		same(t, text)
	}
}

// same wants PII, but for links, to find what is between ‹ and ›.
func same(t *testing.T, text string) {
	t.Helper()
	plain, want := marked(text)
	var got []string
	for _, f := range pii(t).Find(nil, plain) {
		if f.Type != "URL" {
			got = append(got, fmt.Sprintf("%d %s", f.Start, plain[f.Start:f.End]))
		}
	}
	require.Equal(t, want, got, text)
}
