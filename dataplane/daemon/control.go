package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// The control socket speaks HTTP with JSON bodies over a Unix socket of mode 0600, so that
// `curl --unix-socket` is a client as good as ours.

// Handle registers a control call: method and path as in "POST /v1/qp". The request's body is
// decoded strictly into Req; what fn returns is the answer's body.
func Handle[Req, Resp any](mux *http.ServeMux, pattern string, fn func(Req) (Resp, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		var req Req
		if r.Method != http.MethodGet {
			dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&req); err != nil && !errors.Is(err, io.EOF) {
				answer(w, http.StatusBadRequest, errorBody{err.Error()})
				return
			}
		}
		resp, err := fn(req)
		if err != nil {
			answer(w, http.StatusUnprocessableEntity, errorBody{err.Error()})
			return
		}
		answer(w, http.StatusOK, resp)
	})
}

type errorBody struct {
	Error string `json:"error"`
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client may have gone; there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(body)
}

// listenControl makes the socket. A file left by a daemon that died is replaced, a living one is
// not.
func listenControl(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("control socket %s: another daemon answers there", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return l, nil
}

// Client calls a daemon's control socket.
type Client struct {
	path string
	http http.Client
}

// NewClient returns a client of the socket at path; nothing is opened yet.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &Client{path: path, http: http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{DialContext: dial}}}
}

// Call sends req, unless nil, and decodes the answer into resp, unless nil.
func (c *Client) Call(ctx context.Context, method, path string, req, resp any) error {
	body, w := io.Pipe()
	go func() {
		var err error
		if req != nil {
			err = json.NewEncoder(w).Encode(req)
		}
		w.CloseWithError(err)
	}()
	r, err := http.NewRequestWithContext(ctx, method, "http://control"+path, body)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	defer answer.Body.Close()
	what := fmt.Sprintf("%s: %s %s", c.path, method, path)
	return readAnswer(what, answer.StatusCode, answer.Body, resp)
}

// readAnswer decodes an answer into resp, unless nil, or returns the error that it tells of.
func readAnswer(what string, status int, body io.Reader, resp any) error {
	if status != http.StatusOK {
		var e errorBody
		if err := json.NewDecoder(body).Decode(&e); err != nil || e.Error == "" {
			e.Error = http.StatusText(status)
		}
		return fmt.Errorf("%s: %s", what, e.Error)
	}
	if resp == nil {
		return nil
	}
	if err := json.NewDecoder(body).Decode(resp); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }
