package fleet

import "strconv"

// GPURow is a GPU as a Query sees it. One GPURow may be used for many GPUs, one
// after the other.
type GPURow struct {
	*GPU
	Host *Node // for telling free from unknown; may be nil
}

// GPUFields lists the fields of a GPURow.
func GPUFields() []Field { return fieldsOf(gpuColumns) }

// Field implements Row.
func (r *GPURow) Field(name string) (Value, bool) { return lookUp(gpuColumns, name, r) }

var gpuColumns = []column[*GPURow]{
	{field(KindText, "UUID, or node and index", "name", "id"), func(r *GPURow) Value { return TextValue(r.ID()) }},
	{field(KindText, "UUID, where an agent tells it", "uuid"), func(r *GPURow) Value { return TextValue(r.UUID) }},
	{field(KindText, "PCI bus id", "pci"), func(r *GPURow) Value { return TextValue(r.PCI) }},
	{field(KindText, "host name", "node"), func(r *GPURow) Value { return TextValue(r.Node) }},
	{field(KindNumber, "index on its node", "index"), func(r *GPURow) Value { return NumberValue(r.Index) }},
	{field(KindText, "model", "gpu", "model"), func(r *GPURow) Value { return TextValue(r.Model) }},
	{field(KindState, "ok, lost, hanging, missing; faulty for all but the first", "state"), (*GPURow).state},
	{field(KindText, "users that hold it; none: it is free", "user", "owner"), func(r *GPURow) Value {
		return r.owners(KindText, func(o *Owner) string { return o.User })
	}},
	{field(KindState, "ids of jobs that hold it", "job"), func(r *GPURow) Value {
		return r.owners(KindState, func(o *Owner) string { return o.Job.ID })
	}},
	{field(KindNumber, "degrees Celsius", "temp"), func(r *GPURow) Value { return readingValue(KindNumber, r.Temp) }},
	{field(KindNumber, "watts", "power"), func(r *GPURow) Value { return readingValue(KindNumber, r.Power) }},
	{field(KindNumber, "utilisation in percent", "util"), func(r *GPURow) Value { return readingValue(KindNumber, r.Util) }},
	{field(KindSize, "memory used", "mem", "memory"), func(r *GPURow) Value { return readingValue(KindSize, r.MemUsed) }},
	{field(KindText, "MIG mode and profiles", "mig"), (*GPURow).mig},
	{field(KindText, "faults that are not cleared: kind and text", "fault", "faults"), (*GPURow).faults},
	{field(KindState, "XIDs that are not cleared", "xid"), (*GPURow).xids},
}

// state is how far the device answers; absent while no agent watches it.
func (r *GPURow) state() Value {
	word := ""
	if r.Silent() {
		word = CondFaulty.String()
	}
	return StateValue(string(r.Health.State), nil, word)
}

func (r *GPURow) mig() Value {
	var all []string
	switch r.GPU.MIG.Current {
	case MIGUnknown, MIGUnsupported:
	default:
		all = append(all, string(r.GPU.MIG.Current))
	}
	for i := range r.GPU.MIG.Instances {
		all = append(all, r.GPU.MIG.Instances[i].Profile)
	}
	return TextsValue(all)
}

func (r *GPURow) faults() Value {
	var all []string
	for i := range r.Faults {
		if f := &r.Faults[i]; f.IsOpen() {
			all = append(all, f.Kind, f.Text)
		}
	}
	return TextsValue(all)
}

func (r *GPURow) xids() Value {
	var all []string
	for i := range r.Faults {
		if f := &r.Faults[i]; f.IsOpen() && f.Kind == FaultXID {
			all = append(all, strconv.Itoa(f.Code))
		}
	}
	return StateValue("", all, "")
}

func readingValue(kind ValueKind, m Reading) Value {
	return Value{Kind: kind, Num: m.Value, Absent: m.Quality != Known}
}

func (r *GPURow) owners(kind ValueKind, get func(*Owner) string) Value {
	var all []string
	for o := range r.Holders {
		all = append(all, get(o))
	}
	held := len(all) > 0 || r.Host != nil && r.Host.UseOf(r.GPU) != UseFree
	return Value{Kind: kind, List: all, Absent: !held}
}

// Words implements Row: id, node, model, state, owners, MIG profiles and faults.
func (r *GPURow) Words(yield func(string) bool) {
	for _, s := range [...]string{r.ID(), r.Node, r.Model, r.PCI, string(r.Health.State)} {
		if !yield(s) {
			return
		}
	}
	for o := range r.Holders {
		if !yield(o.Job.ID) || !yield(o.Name) || !yield(o.User) {
			return
		}
	}
	for i := range r.GPU.MIG.Instances {
		if !yield(r.GPU.MIG.Instances[i].Profile) {
			return
		}
	}
	for i := range r.Faults {
		if f := &r.Faults[i]; f.IsOpen() && (!yield(f.Kind) || !yield(f.Text)) {
			return
		}
	}
}
