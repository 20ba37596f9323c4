package actions

import (
	"bytes"
	"testing"
)

func FuzzParseRun(f *testing.F) {
	const plan = `{"at":"2026-07-28T03:04:12Z","plan":{"verb":"drain","steps":[{"n":1,"name":"x"},{"n":2}]}}` + "\n"
	f.Add([]byte(plan + `{"at":"2026-07-28T03:04:13Z","intent":1}` + "\n"))
	f.Add([]byte(plan + `{"intent":-4}` + "\n" + `{"result":{"n":99}}` + "\n" + `{"intent":2`))
	f.Add([]byte("\n\n{}\nnull\n[]\n\"\"\n"))
	f.Add([]byte(plan + plan + `{"end":"verified"}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		run := parseRun(data)
		if run.Summary() == "" || run.NotUnderstood > bytes.Count(data, []byte("\n"))+1 {
			t.Errorf("%+v", run)
		}
		if run.Plan != nil && len(run.InFlight)+len(run.NotBegun) > len(run.Plan.Steps) {
			t.Errorf("more steps than the plan has: %+v", run)
		}
		// A line torn off the end changes nothing but itself.
		torn := parseRun(append(bytes.Clone(data), "\n{\"at\":"...))
		if len(torn.Done) != len(run.Done) || torn.NotUnderstood != run.NotUnderstood+1 {
			t.Errorf("a torn line harmed others: %+v, %+v", run, torn)
		}
	})
}
