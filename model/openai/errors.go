package openai

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/plughook/plughook/internal/inbound"
	"github.com/plughook/plughook/internal/redact"
	"github.com/plughook/plughook/model"
)

// Codes in the terms of Google's API.
const (
	invalidArgument   = "INVALID_ARGUMENT"
	deadlineExceeded  = "DEADLINE_EXCEEDED"
	resourceExhausted = "RESOURCE_EXHAUSTED"
	unavailable       = "UNAVAILABLE"
	internal          = "INTERNAL"
)

// codes are those of HTTP statuses; of 4xx that are not here it is INVALID_ARGUMENT, of 5xx
// UNAVAILABLE.
var codes = map[int]string{
	http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusPaymentRequired: "FAILED_PRECONDITION",
	http.StatusForbidden: "PERMISSION_DENIED", http.StatusNotFound: "NOT_FOUND",
	http.StatusRequestTimeout: deadlineExceeded, http.StatusConflict: "ABORTED",
	http.StatusTooManyRequests: resourceExhausted, http.StatusInternalServerError: internal,
	http.StatusNotImplemented: "UNIMPLEMENTED", http.StatusGatewayTimeout: deadlineExceeded,
}

func codeOf(status int) string {
	if code, ok := codes[status]; ok {
		return code
	}
	if status >= 500 {
		return unavailable
	}
	return invalidArgument
}

// kinds are the codes of errors that a server reports in the body of an answer with a good status.
var kinds = map[string]string{
	"rate_limit_exceeded": resourceExhausted, "rate_limit_error": resourceExhausted,
	"insufficient_quota": resourceExhausted,
	"server_error":       internal, "internal_server_error": internal, "InternalServerError": internal,
	"overloaded_error": unavailable, "service_unavailable": unavailable,
	"invalid_request_error": invalidArgument, "context_length_exceeded": invalidArgument,
	"BadRequestError": invalidArgument,
}

// hint says what to do about a status.
func (m *chat) hint(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "; check " + m.keyFrom
	case http.StatusNotFound:
		return "; check that the server has the model, and that the base URL is right: for most servers it ends in /v1"
	}
	return ""
}

// errRedirect says that a server answered with a redirect.
var errRedirect = errors.New("a redirect, which is not followed, since the conversation would go elsewhere")

// refused returns the error of a call that got no answer, or one that is an error.
func (m *chat) refused(res *http.Response, err error) error {
	if res != nil && res.StatusCode >= 400 {
		body, _ := io.ReadAll(res.Body) // an unreadable body still has its status
		return m.failed(codeOf(res.StatusCode), res.StatusCode, "%s answered %d %s%s%s",
			m.url, res.StatusCode, http.StatusText(res.StatusCode),
			colon(told([]byte(m.redact(string(body))))), m.hint(res.StatusCode))
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which is said here
	}
	if timeout(err) {
		return m.failed(deadlineExceeded, 0, "%s did not answer in time: %w", m.url, err)
	}
	if errors.Is(err, errRedirect) {
		return m.failed(model.Failed, 0, "%s answered with %w; set the base URL to the API's own address", m.url, err)
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return m.failed(model.Failed, 0, "%s is not trusted; check the base URL, or trust its certificate in Config.HTTPClient: %w", m.url, err)
	}
	return m.failed(unavailable, 0, "%s cannot be reached; check that the server runs: %w", m.url, err)
}

// broken returns the error of an answer that could not be read to its end.
func (m *chat) broken(err error) error {
	if errors.Is(err, bufio.ErrTooLong) { // of the stream's decoder
		err = inbound.TooLarge("in one line")
	}
	var large *inbound.Error
	if errors.As(err, &large) {
		return m.failed(model.Failed, 0, "the answer of %s is not read to its end: %w", m.url, err)
	}
	if timeout(err) {
		return m.failed(deadlineExceeded, 0, "%s did not end its answer in time: %w", m.url, err)
	}
	return m.failed(model.Unfinished, 0, "%s broke off its answer: %w", m.url, err)
}

func timeout(err error) bool {
	var t net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// inBand returns the error that the body of an answer with a good status reports, nil if there is
// none.
func (m *chat) inBand(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var e struct{ Code, Type any }
	_ = json.Unmarshal(raw, &e) // another form has no code
	code := model.Failed
	status := 0
	for _, v := range []any{e.Type, e.Code} { // the code is the more exact
		word := fmt.Sprint(v)
		if known := kinds[word]; known != "" {
			code = known
		}
		if n, err := strconv.Atoi(word); err == nil && n >= 400 && n < 600 {
			code = codeOf(n)
			status = n
		}
	}
	return m.failed(code, status, "%s answered with an error%s", m.url,
		colon(errorText(json.RawMessage(m.redact(string(raw))))))
}

// failed returns an error without the key, which a server or a transport may have put into what
// they say.
func (m *chat) failed(code string, status int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if clean := m.redact(err.Error()); clean != err.Error() {
		err = errors.New(clean)
	}
	return &model.Error{Code: code, Status: status, Err: err}
}

// redactor returns a function that takes the key out of a text, in the forms that servers write it, too. A key of less than 8 bytes is a
// placeholder, such as "none", and would be found everywhere.
func redactor(key string) func(string) string {
	if len(key) < 8 {
		return func(text string) string { return text }
	}
	return redact.New([]redact.Secret{{Value: key, Name: "(key)"}}).Replace
}

// told returns the message in the body of an error.
func told(body []byte) string {
	var e struct{ Error, Message, Detail json.RawMessage }
	if err := json.Unmarshal(body, &e); err != nil {
		return short(string(body))
	}
	for _, raw := range []json.RawMessage{e.Error, e.Message, e.Detail} {
		if text := errorText(raw); text != "" {
			return text
		}
	}
	return short(string(body))
}

// errorText returns the text of an error: its own, its message's, or else its JSON.
func errorText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return short(text)
	}
	var object struct{ Message string }
	if json.Unmarshal(raw, &object) == nil && object.Message != "" {
		return short(object.Message)
	}
	return short(string(raw))
}

// short returns the beginning of a text, on one line.
func short(text string) string {
	const most = 1000
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
