package fleet

import "regexp"

// migProfile finds a MIG profile in a GRES type: "1g.5gb", "nvidia_a100_3g.40gb".
var migProfile = regexp.MustCompile(`(?i)(^|[^0-9a-z])[1-9]g\.?[0-9]+gb`)

// gpusOf lists the whole GPUs of a host as its schedulers know them: by index, with
// the job that holds them where one job alone does.
func gpusOf(node string, views []View, holders []holder) []GPU {
	var gpus []GPU
	for i := range views {
		models := gpuModels(&views[i])
		for len(gpus) < len(models) {
			gpus = append(gpus, GPU{Node: node, Index: len(gpus), Minor: -1})
		}
		for k, m := range models {
			if gpus[k].Model == "" {
				gpus[k].Model = m
			}
		}
	}
	for i := range views {
		for _, index := range heldIndices(&views[i], len(gpus)) {
			gpus[index].Owners = append(gpus[index].Owners, holders[i].ownerIn(views[i].Cluster))
		}
	}
	return gpus
}

// ownerIn is the owner of an allocated GPU. When several jobs hold GPUs of the
// node, nobody says which is whose: the owner has no job.
func (h holder) ownerIn(cluster string) Owner {
	if h.jobs == 1 {
		return h.owner
	}
	return Owner{Job: JobKey{Cluster: cluster}}
}

// gpuModels lists the model of every whole GPU of the view, by index.
func gpuModels(v *View) []string {
	total := min(v.GPUs.Total, maxGPUs)
	models := make([]string, 0, max(0, total))
	for _, g := range v.GRES {
		if g.Name != "gpu" || g.Type == "" || migProfile.MatchString(g.Type) {
			continue
		}
		for k := int64(0); k < g.Count && len(models) < total; k++ {
			models = append(models, g.Type)
		}
	}
	for len(models) < total {
		models = append(models, v.GPUs.Model)
	}
	return models
}

// maxGPUs bounds what is believed of one host.
const maxGPUs = 1024

// heldIndices lists the indices below n that are allocated in the view. A count
// without indices says which only when it is all or nothing.
func heldIndices(v *View, n int) []int {
	var held []int
	seen := make([]bool, n)
	for _, g := range v.UsedGRES {
		if g.Name != "gpu" || migProfile.MatchString(g.Type) {
			continue
		}
		for _, index := range g.Indices {
			if index >= 0 && index < n && !seen[index] {
				seen[index] = true
				held = append(held, index)
			}
		}
	}
	if len(held) == 0 && v.GPUs.Allocated > 0 && v.GPUs.Allocated == v.GPUs.Total {
		for index := range min(n, v.GPUs.Total) {
			held = append(held, index)
		}
	}
	return held
}
