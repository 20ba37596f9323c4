package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// remark is one error or warning of an answer.
type remark struct {
	Code   int // Slurm's error number; 0: none told
	Text   string
	Detail string // what was tried
	About  string // the job it is about, in status[]
}

// String is the remark in Slurm's own words.
func (m remark) String() string {
	text := m.Text
	switch {
	case text == "":
		text = m.Detail
	case m.Detail != "" && !strings.Contains(m.Detail, text):
		text = m.Detail + ": " + text
	}
	if m.About != "" {
		text = "job " + m.About + ": " + text
	}
	return text
}

// readRemarks reads "errors" or "warnings". Versions call the number
// error_number, error_code or errno.
func readRemarks(raw json.RawMessage) []remark {
	var list []remark
	for _, r := range recordsOf(raw) {
		m := remark{
			Code:   r.count("error_number", "error_code", "errno"),
			Text:   r.text("error"),
			Detail: r.text("description"),
		}
		if odd := r.oddities(); len(r.fields) == 0 && odd != nil {
			m.Detail = odd[0] // not an object, but said all the same
		}
		if m != (remark{}) && !m.done() {
			list = append(list, m)
		}
	}
	return list
}

// done recognises what 22.05 puts among the errors for every array task that it
// did change: "job array update from HOST failed", without any error.
func (m remark) done() bool {
	return m.Code == 0 && m.Text == "" && strings.HasPrefix(m.Detail, "job array update")
}

// readStatus reads "status" of a DELETE, or "results" of an update: what became of
// each job. A code of 0 is success.
func readStatus(raw json.RawMessage) []remark {
	var list []remark
	for _, r := range recordsOf(raw) {
		e := r
		if _, raw := r.raw([]string{"error"}); raw != nil && raw[0] == '{' {
			e = r.at("error")
		}
		m := remark{
			Code:  e.count("code", "error_code", "error_number"),
			Text:  e.text("message", "string", "error"),
			About: r.text("step_id", "job_id"),
		}
		if m.Code != 0 {
			list = append(list, m)
		}
	}
	return list
}

// codeClass maps Slurm's error numbers (slurm_errno.h) to this package's classes,
// where its words alone do not.
var codeClass = map[int]error{
	1001: ErrUnreachable, 1002: ErrUnreachable, 1003: ErrUnreachable, 1004: ErrUnreachable,
	1800: ErrUnreachable, 1801: ErrUnreachable, 1802: ErrUnreachable, 1803: ErrUnreachable,
	7000: ErrUnreachable, 1804: ErrBusy, 5004: ErrBusy,
	1007: ErrAuth, 6000: ErrAuth, 6001: ErrAuth, 6004: ErrAuth, 9008: ErrAuth,
	2002: ErrDenied, 2010: ErrDenied,
	2017: ErrNotFound, 2018: ErrNotFound,
	2054: ErrInput, 9000: ErrInput, 9001: ErrInput, 9002: ErrInput,
}

// class is the class of a remark; nil when it is none that is known.
func (m remark) class() error {
	if class := codeClass[m.Code]; class != nil {
		return class
	}
	return classOf(m.Text)
}

// remarksError joins remarks into one error that wraps the first known class; nil
// when there are none.
func remarksError(list []remark) error {
	if len(list) == 0 {
		return nil
	}
	var class error
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = m.String()
		if class == nil {
			class = m.class()
		}
	}
	text := strings.Join(texts, "; ")
	if class == nil {
		return errors.New(text)
	}
	return fmt.Errorf("%w: %s", class, text)
}
