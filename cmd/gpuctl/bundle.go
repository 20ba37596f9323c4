package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"time"
)

// archived is one file of an archive.
type archived struct {
	name string
	data []byte
}

// writeArchive writes a .tar.gz that only its owner can read.
func writeArchive(path string, files []archived, at time.Time) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(f)
	tw := tar.NewWriter(zip)
	defer func() { err = errors.Join(err, tw.Close(), zip.Close(), f.Close()) }()
	for _, x := range files {
		h := &tar.Header{Name: x.name, Mode: 0o600, Size: int64(len(x.data)), ModTime: at, Typeflag: tar.TypeReg}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write(x.data); err != nil {
			return err
		}
	}
	return nil
}

// snapshotJSON is everything that get lists, one list after the other.
func (s *session) snapshotJSON(ctx context.Context) ([]byte, error) {
	snap, err := s.first(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var lists []list
	for _, r := range resources() {
		lists = append(lists, listOf(&r, r.rows(snap, now), snap, now))
	}
	var out bytes.Buffer
	err = printObject(&out, "json", lists)
	return out.Bytes(), err
}
