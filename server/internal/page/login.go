package page

import (
	"net/http"
	"net/url"
	"strings"
)

// cookie is the name of the cookie that keeps a caller's token. No script reads it, and no other site's page sends it.
const cookie = "plughook_token"

// Token gives a request that has no header Authorization the token of the login form's cookie.
func Token(r *http.Request) {
	if c, err := r.Cookie(cookie); err == nil && c.Value != "" && r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+c.Value)
	}
}

// LoginPath is where somebody is sent who is not known and asks for a page.
func LoginPath(r *http.Request) string {
	if r.Method != http.MethodGet || r.URL.Path == "/" && r.URL.RawQuery == "" {
		return "/login"
	}
	return "/login?to=" + url.QueryEscape(r.URL.RequestURI())
}

// login asks for a token, and keeps one that is valid in a cookie.
func (x *page) login(q *request) (any, error) {
	v := &view{Template: "login", Title: "Sign in", Narrow: true, Data: map[string]any{
		"To": q.URL.Query().Get("to"), "Form": x.Options.Login, "Wrong": false,
	}}
	if q.Method == http.MethodGet || !x.Options.Login {
		return v, nil
	}
	if err := x.form(q); err != nil {
		return nil, err
	}
	token := strings.TrimSpace(q.PostForm.Get("token"))
	asks := q.Request.Clone(q.Context())
	asks.Header.Set("Authorization", "Bearer "+token)
	if _, err := x.Caller(asks); err != nil || token == "" {
		v.Status = http.StatusUnauthorized
		v.Data.(map[string]any)["Wrong"] = true
		v.Data.(map[string]any)["To"] = q.PostForm.Get("to")
		return v, nil
	}
	http.SetCookie(q.w, x.cookie(q, token, 30*24*60*60))
	return back(q.PostForm.Get("to")), nil
}

func (x *page) cookie(q *request, value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name:     cookie,
		Value:    value,
		Path:     "/",
		MaxAge:   seconds,
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
		Secure:   q.TLS != nil || q.Header.Get("X-Forwarded-Proto") == "https",
	}
}

// logout forgets the token.
func (x *page) logout(q *request) (any, error) {
	http.SetCookie(q.w, x.cookie(q, "", -1))
	return redirect("/login"), nil
}
