package gemini

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/inbound"
	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/model"
)

var errShape = errors.New("its JSON is not of the API's shape")

// failure returns the *model.Error for an error of the SDK or the transport. The text of that error
// may quote the request or the answer, so failure writes another one.
func (m *gemini) failure(ctx context.Context, e *exchange, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var api genai.APIError
	switch {
	case errors.As(err, &api):
		return m.refused(e, &api)
	case !e.sent:
		return invalid(errors.New(m.hide("the request cannot be sent: " + err.Error())))
	case e.broken != nil:
		err = e.broken
	case e.begun():
		return &model.Error{
			Code:   model.Failed,
			Status: e.status,
			Err: fmt.Errorf("the answer is not one of the Gemini API (%s); check the base URL",
				reason(err)),
		}
	}
	failed := &model.Error{Code: "UNAVAILABLE", Status: e.status}
	if e.begun() {
		failed.Code = model.Unfinished
	}
	var (
		sending     *url.Error
		timeout     net.Error
		large       *inbound.Error
		certificate *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &large):
		failed.Code = model.Failed
	case e.expired, errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		failed.Code = "DEADLINE_EXCEEDED"
	}
	text := err.Error()
	if errors.As(err, &sending) {
		text = sending.Err.Error()
		if u, err := url.Parse(sending.URL); err == nil {
			text = u.Host + ": " + text
		}
	}
	failed.Err = errors.New(m.hide(text))
	return failed
}

// reason says why an answer cannot be read, without quoting it.
func reason(err error) string {
	var (
		syntax *json.SyntaxError
		typ    *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &syntax):
		return "it is not JSON"
	case errors.As(err, &typ):
		return errShape.Error() + ": " + typ.Field
	case errors.Is(err, errShape):
		return errShape.Error()
	}
	return "it cannot be read"
}

var name = lazyregexp.New(`^[A-Z][A-Z_]+$`)

// codes are the names of errors by HTTP status.
var codes = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
	408: "DEADLINE_EXCEEDED",
	409: "ABORTED", 429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED",
	502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

// refused returns the error that the server reported, by an HTTP status or in the stream.
func (m *gemini) refused(e *exchange, api *genai.APIError) error {
	failed := &model.Error{Code: api.Status, Status: api.Code}
	if !e.begun() {
		failed.Status = e.status
	}
	if !name.MatchString(failed.Code) {
		failed.Code = cmp.Or(codes[failed.Status], model.Failed)
	}
	text := cmp.Or(api.Message, http.StatusText(failed.Status), "the server has not said why")
	if failed.Status >= 300 && failed.Status < 400 {
		text = "the server answered with a redirect, which is not followed, since the key would be sent along; set the base URL to the API's own address"
	}
	wrong := failed.Status == http.StatusUnauthorized
	for _, d := range api.Details {
		wrong = wrong || d["reason"] == "API_KEY_INVALID" // which has the status 400
	}
	text = m.hide(text)
	if wrong {
		text += m.keyHint
	}
	failed.Err = errors.New(text)
	for _, d := range api.Details {
		delay, _ := d["retryDelay"].(string)
		if told, err := time.ParseDuration(delay); err == nil && e.retryAfter < 0 {
			e.retryAfter = max(0, told)
		}
	}
	return failed
}

// again reports whether to try again, and how long to wait before that.
func (e *exchange) again(err error, wait time.Duration) (time.Duration, bool) {
	var failed *model.Error
	if e.begun() || !errors.As(err, &failed) {
		return 0, false
	}
	switch failed.Status {
	case 0: // no connection
		return wait, failed.Code == "UNAVAILABLE"
	case 408, 429, 500, 502, 503, 504:
	default:
		return 0, false
	}
	if e.retryAfter >= 0 {
		wait = e.retryAfter
	}
	return wait, wait <= longestWait
}
