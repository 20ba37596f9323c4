package fleet

// GPURow is a GPU as a Query sees it. One GPURow may be used for many GPUs, one
// after the other.
type GPURow struct{ *GPU }

// GPUFields lists the fields of a GPURow.
func GPUFields() []Field { return fieldsOf(gpuColumns) }

// Field implements Row.
func (r *GPURow) Field(name string) (Value, bool) { return lookUp(gpuColumns, name, r) }

var gpuColumns = []column[*GPURow]{
	{field(KindText, "UUID, or node and index", "name", "id", "uuid"), func(r *GPURow) Value { return TextValue(r.ID()) }},
	{field(KindText, "host name", "node"), func(r *GPURow) Value { return TextValue(r.Node) }},
	{field(KindNumber, "index on its node", "index"), func(r *GPURow) Value { return NumberValue(r.Index) }},
	{field(KindText, "model", "gpu", "model"), func(r *GPURow) Value { return TextValue(r.Model) }},
	{field(KindText, "users that hold it", "user", "owner"), func(r *GPURow) Value {
		return r.owners(KindText, func(o *Owner) string { return o.User })
	}},
	{field(KindState, "ids of jobs that hold it", "job"), func(r *GPURow) Value {
		return r.owners(KindState, func(o *Owner) string { return o.Job.ID })
	}},
	{field(KindNumber, "degrees Celsius", "temp"), func(r *GPURow) Value { return readingValue(KindNumber, r.Temp) }},
	{field(KindNumber, "watts", "power"), func(r *GPURow) Value { return readingValue(KindNumber, r.Power) }},
	{field(KindNumber, "utilisation in percent", "util"), func(r *GPURow) Value { return readingValue(KindNumber, r.Util) }},
	{field(KindSize, "memory used", "mem", "memory"), func(r *GPURow) Value { return readingValue(KindSize, r.MemUsed) }},
}

func readingValue(kind ValueKind, m Reading) Value {
	return Value{Kind: kind, Num: m.Value, Absent: m.Quality != Known}
}

func (r *GPURow) owners(kind ValueKind, get func(*Owner) string) Value {
	var all []string
	for i := range r.Owners {
		all = append(all, get(&r.Owners[i]))
	}
	return Value{Kind: kind, List: all, Absent: len(all) == 0}
}

// Words implements Row: id, node, model and owners.
func (r *GPURow) Words(yield func(string) bool) {
	if !yield(r.ID()) || !yield(r.Node) || !yield(r.Model) {
		return
	}
	for _, o := range r.Owners {
		if !yield(o.Job.ID) || !yield(o.Name) || !yield(o.User) {
			return
		}
	}
}
