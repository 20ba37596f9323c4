package fleet

// IsMIG reports a resource whose type is a MIG profile: slices of GPUs, not GPUs.
func (g *GRES) IsMIG() bool { return g.Name == "gpu" && migProfile.MatchString(g.Type) }
