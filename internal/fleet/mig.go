package fleet

// MIGBoard is what devices of one model can be cut into, as their driver tells it.
type MIGBoard struct {
	Model    string
	Profiles []MIGProfile
}

// MIGProfile is one kind of GPU instance of a board.
type MIGProfile struct {
	Name    string
	Compute int // slices
	Memory  int // slices; 0: not told while MIG is off
	Max     int // most instances of it at once
	Starts  []int
	Media   bool // a "+me" variant: at most one on a device
}

// Placed reports a board whose driver told where its profiles may be: not all do while
// MIG is off.
func (b *MIGBoard) Placed() bool {
	for i := range b.Profiles {
		if len(b.Profiles[i].Starts) == 0 {
			return false
		}
	}
	return len(b.Profiles) > 0
}

// BoardOf is what a device of the host can be cut into, or nil.
func (a *AgentInfo) BoardOf(g *GPU) *MIGBoard {
	if a == nil {
		return nil
	}
	for i := range a.Boards {
		if a.Boards[i].Model == g.Model {
			return &a.Boards[i]
		}
	}
	return nil
}
