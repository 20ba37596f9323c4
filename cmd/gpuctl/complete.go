package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completionPatience is how long a shell may wait for names from the clusters.
const completionPatience = 3 * time.Second

func withPrefix(words []string, prefix string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, prefix) {
			out = append(out, w)
		}
	}
	return out
}

// fixed completes a flag with a fixed set of words.
func fixed(words ...string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return withPrefix(words, prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNames asks the clusters for the names of a resource; a shell that asks in
// vain gets none, without a word.
func (a *app) completeNames(ctx context.Context, word, prefix string) ([]string, cobra.ShellCompDirective) {
	r, err := findResource(word)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	a.agents.none = true // there is no time for them
	s, err := a.open(ctx, "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.close()
	snap, err := s.first(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, x := range r.rows(snap, time.Now()) {
		names = append(names, x.name)
	}
	return withPrefix(names, prefix), cobra.ShellCompDirectiveNoFileComp
}
