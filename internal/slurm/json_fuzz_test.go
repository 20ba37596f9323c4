package slurm

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

// fuzzDecoder feeds one decoder. It must not panic, and must hand out a record for
// every element it counted.
func fuzzDecoder(f *testing.F, seeds []string, decode func(raw []byte) (got int, a answer, err error)) {
	f.Helper()
	for _, s := range seeds {
		f.Add(answerOf(f, s))
	}
	f.Add([]byte(`{"nodes":[{"name":{"list":[]},"state":[[]]}],"jobs":{"job_id":{}},"QOS":null,"":[1]}`))
	f.Add([]byte(`{"jobs":[{"job_id":1e999,"array_task_string":"1-9999999999","time_limit":{"number":{}}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, a, err := decode(raw)
		if err == nil && got != a.Records {
			t.Errorf("%d records of %d", got, a.Records)
		}
		if err != nil && !errors.Is(err, ErrDecode) {
			t.Errorf("an error without class: %v", err)
		}
	})
}

func FuzzDecodeNodes(f *testing.F) {
	fuzzDecoder(f, []string{"22.05/v0.0.38-node", "26.05/v0.0.45-node"}, func(raw []byte) (int, answer, error) {
		v, a, err := decodeNodes(bytes.NewReader(raw))
		return len(v), a, err
	})
}

func FuzzDecodeJobs(f *testing.F) {
	fuzzDecoder(f, []string{"22.05/v0.0.38-job", "26.05/v0.0.45-x-job-requeuehold"}, func(raw []byte) (int, answer, error) {
		if v, a, err := decodeDetails(bytes.NewReader(raw)); err == nil && len(v) != a.Records {
			return len(v), a, err
		}
		v, a, err := decodeJobs(bytes.NewReader(raw))
		return len(v), a, err
	})
}

func FuzzDecodePartitions(f *testing.F) {
	fuzzDecoder(f, []string{"22.05/v0.0.38-partition", "26.05/v0.0.45-partition"}, func(raw []byte) (int, answer, error) {
		v, a, err := decodePartitions(bytes.NewReader(raw))
		return len(v), a, err
	})
}

func FuzzDecodeReservations(f *testing.F) {
	fuzzDecoder(f, []string{"22.05/v0.0.38-reservation-maint1", "26.05/v0.0.45-reservation-maint1"}, func(raw []byte) (int, answer, error) {
		v, a, err := decodeReservations(bytes.NewReader(raw), time.Unix(1796069342, 0))
		return len(v), a, err
	})
}

func FuzzDecodeStats(f *testing.F) {
	fuzzDecoder(f, []string{"22.05/v0.0.38-diag", "26.05/v0.0.45-diag"}, func(raw []byte) (int, answer, error) {
		_, a, err := decodeStats(bytes.NewReader(raw))
		return a.Records, a, err
	})
}

func FuzzDecodeAccounting(f *testing.F) {
	fuzzDecoder(f, []string{"22.05/v0.0.38-db-job", "26.05/v0.0.45-db-job"}, func(raw []byte) (int, answer, error) {
		v, a, err := decodeAccounting(bytes.NewReader(raw))
		return len(v), a, err
	})
}

func FuzzDecodeQOS(f *testing.F) {
	fuzzDecoder(f, []string{"22.05/v0.0.38-db-qos", "26.05/v0.0.45-db-qos"}, func(raw []byte) (int, answer, error) {
		v, a, err := decodeQOS(bytes.NewReader(raw))
		return len(v), a, err
	})
}

func FuzzDecodeConfig(f *testing.F) {
	fuzzDecoder(f, []string{"26.05/v0.0.45-conf"}, func(raw []byte) (int, answer, error) {
		_, a, err := decodeConfig(bytes.NewReader(raw))
		return a.Records, a, err
	})
}

func FuzzDecodeRemarks(f *testing.F) {
	fuzzDecoder(f, []string{"22.05/v0.0.38-job-hold", "26.05/v0.0.45-job-delete-byother"}, func(raw []byte) (int, answer, error) {
		a, err := decodeAnswer(bytes.NewReader(raw), "", nil)
		for _, m := range append(a.Errors, a.Status...) {
			_ = m.String()
		}
		_ = restVerdict(request{method: "GET"}, 200, a)
		return a.Records, a, err
	})
}

func FuzzOfferedVersions(f *testing.F) {
	f.Add([]byte(`{"tags":[{"name":"slurm"}],"paths":{"/slurm/v0.0.38/jobs":{"get":{}},"/slurmdb/v0.0.38/jobs":{}},"x":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		offered, err := offeredVersions(bytes.NewReader(raw))
		if err != nil && !errors.Is(err, ErrDecode) {
			t.Errorf("an error without class: %v", err)
		}
		if v, err := chooseVersion(offered); err == nil && versionNumber(v) < oldestAPI {
			t.Errorf("chose %s of %v", v, offered)
		}
	})
}

func FuzzReadClaims(f *testing.F) {
	f.Add(makeToken("gpuop", time.Unix(1796082648, 0)))
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, tok string) {
		c := readClaims(tok)
		_ = renewalOf(tok, time.Unix(1796082648, 0))
		if cleaned, err := cleanToken(tok); err == nil && cleaned == "" {
			t.Error("an empty token")
		}
		_ = c.user
	})
}

func BenchmarkDecodeNodes(b *testing.B) {
	one := bytes.TrimSpace(answerOf(b, "26.05/v0.0.45-nodes"))
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := decodeNodes(bytes.NewReader(one)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeJobs(b *testing.B) {
	one := bytes.TrimSpace(answerOf(b, "22.05/v0.0.38-jobs"))
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := decodeJobs(bytes.NewReader(one)); err != nil {
			b.Fatal(err)
		}
	}
}
