// Package metrics offers what the agent knows to Prometheus. Readings have the names
// that dcgm-exporter gives them, so that dashboards and alerts go on working; what it
// has no name for starts with gpuctl_. A value that is not known has no sample: absent
// is never 0.
//
// It imports agent and fleet.
package metrics

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Handler serves the latest state of a sampler, at any path.
func Handler(latest func() *agent.State) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(latest))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// reading is a metric of a device that is one of its readings.
type reading struct {
	desc *prometheus.Desc
	of   func(*fleet.GPU) (float64, bool)
}

type collector struct {
	latest   func() *agent.State
	readings []reading

	xid, answers, check, fault, owner, instance *prometheus.Desc

	up, at, expected, present, nodeCheck, nodeFault, problems *prometheus.Desc
}

func newCollector(latest func() *agent.State) *collector {
	device := []string{"gpu", "UUID", "pci_bus_id", "modelName", "Hostname"}
	of := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append(append([]string{}, device...), labels...), nil)
	}
	node := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	const mebi = 1 << 20
	known := func(pick func(*fleet.GPU) fleet.Reading, unit float64) func(*fleet.GPU) (float64, bool) {
		return func(g *fleet.GPU) (float64, bool) {
			r := pick(g)
			return r.Value / unit, r.Quality == fleet.Known && g.Health.State == fleet.GPUAnswers
		}
	}
	return &collector{
		latest: latest,
		readings: []reading{
			{of("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C)."), known(func(g *fleet.GPU) fleet.Reading { return g.Temp }, 1)},
			{of("DCGM_FI_DEV_SLOWDOWN_TEMP", "Slowdown temperature (in C)."), known(func(g *fleet.GPU) fleet.Reading { return g.TempLimit }, 1)},
			{of("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W)."), known(func(g *fleet.GPU) fleet.Reading { return g.Power }, 1)},
			{of("DCGM_FI_DEV_POWER_MGMT_LIMIT", "Power limit (in W)."), known(func(g *fleet.GPU) fleet.Reading { return g.PowerCap }, 1)},
			{of("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %)."), known(func(g *fleet.GPU) fleet.Reading { return g.Util }, 1)},
			{of("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB)."), known(func(g *fleet.GPU) fleet.Reading { return g.MemUsed }, mebi)},
			{of("DCGM_FI_DEV_FB_TOTAL", "Framebuffer memory (in MiB)."), known(func(g *fleet.GPU) fleet.Reading { return g.MemTotal }, mebi)},
			{of("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz)."), known(func(g *fleet.GPU) fleet.Reading { return g.SMClock }, 1)},
		},
		xid:      of("DCGM_FI_DEV_XID_ERRORS", "The last XID whose fault is open."),
		answers:  of("gpuctl_gpu_state", "1 for the state that the device is in: ok, lost, hanging, missing.", "state"),
		check:    of("gpuctl_gpu_check", "1 for the result of a check: ok, warn, bad, n/a, unreadable.", "check", "result"),
		fault:    of("gpuctl_gpu_fault", "How often an open fault has happened.", "kind", "code"),
		owner:    of("gpuctl_gpu_owner", "1 for everybody who holds the device; all empty: somebody who is not known.", "job", "pod", "container", "user"),
		instance: of("gpuctl_gpu_mig_instance", "1 for each MIG instance of the device.", "GPU_I_ID", "GPU_I_PROFILE", "uuid"),

		up:        node("gpuctl_agent_info", "1; its labels are what the agent runs on.", "version", "driver", "cuda"),
		at:        node("gpuctl_agent_sampled_timestamp_seconds", "When the devices were looked at last."),
		expected:  node("gpuctl_node_gpus_expected", "GPUs that should be there; no sample: not known."),
		present:   node("gpuctl_node_gpus_present", "GPUs that the driver lists."),
		nodeCheck: node("gpuctl_node_check", "1 for the result of a check of the machine.", "check", "result"),
		nodeFault: node("gpuctl_node_fault", "How often an open fault of no listed GPU has happened.", "kind", "code", "pci_bus_id"),
		problems:  node("gpuctl_agent_problems", "What the agent cannot do now."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, r := range c.readings {
		out <- r.desc
	}
	for _, d := range []*prometheus.Desc{
		c.xid, c.answers, c.check, c.fault, c.owner, c.instance, c.up, c.at, c.expected, c.present, c.nodeCheck, c.nodeFault, c.problems,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.latest()
	if s == nil {
		return
	}
	seen := map[string]bool{}
	for i := range s.GPUs {
		if id := s.GPUs[i].ID(); !seen[id] { // the same labels twice would lose everything
			seen[id] = true
			c.gpu(&s.GPUs[i], out)
		}
	}
	c.node(s, out)
}

func gauge(out chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	m, err := prometheus.NewConstMetric(d, prometheus.GaugeValue, v, labels...)
	if err != nil { // a label that is no UTF-8, say: this sample alone is lost
		return
	}
	out <- m
}

func (c *collector) gpu(g *fleet.GPU, out chan<- prometheus.Metric) {
	base := []string{strconv.Itoa(g.Index), g.UUID, g.PCI, g.Model, g.Node}
	put := func(d *prometheus.Desc, v float64, labels ...string) {
		gauge(out, d, v, append(append([]string{}, base...), labels...)...)
	}
	for _, r := range c.readings {
		if v, ok := r.of(g); ok {
			put(r.desc, v)
		}
	}
	put(c.answers, 1, string(g.Health.State))
	for _, check := range unique(g.Checks, func(c fleet.Check) string { return c.Name }) {
		put(c.check, 1, check.Name, string(check.Result))
	}
	last, lastXID := -1, 0
	open := openFaults(g.Faults)
	for i, f := range open {
		put(c.fault, float64(f.Count), f.Kind, strconv.Itoa(f.Code))
		if f.Kind == fleet.FaultXID && (last < 0 || f.Last.After(open[last].Last)) {
			last, lastXID = i, f.Code
		}
	}
	if g.Health.State == fleet.GPUAnswers || last >= 0 {
		put(c.xid, float64(lastXID)) // 0 is how DCGM says that there was none
	}
	for _, o := range unique(g.Owners, func(o fleet.Owner) string { return o.Job.ID + "\x00" + o.Pod + "\x00" + o.Container + "\x00" + o.User }) {
		put(c.owner, 1, o.Job.ID, o.Pod, o.Container, o.User)
	}
	for _, in := range g.MIG.Instances {
		put(c.instance, 1, strconv.Itoa(in.ID), in.Profile, in.UUID)
	}
}

func (c *collector) node(s *agent.State, out chan<- prometheus.Metric) {
	n := &s.Node
	gauge(out, c.up, 1, n.Version, n.Driver, n.CUDA)
	gauge(out, c.at, float64(s.At.UnixMilli())/1000)
	if n.Expected >= 0 {
		gauge(out, c.expected, float64(n.Expected))
	}
	gauge(out, c.present, float64(n.Present))
	gauge(out, c.problems, float64(len(n.Problems)))
	for _, check := range unique(n.Checks, func(c fleet.Check) string { return c.Name }) {
		gauge(out, c.nodeCheck, 1, check.Name, string(check.Result))
	}
	for _, f := range openFaults(n.Faults) {
		gauge(out, c.nodeFault, float64(f.Count), f.Kind, strconv.Itoa(f.Code), f.PCI)
	}
}

func openFaults(all []fleet.Fault) []fleet.Fault {
	var open []fleet.Fault
	for _, f := range all {
		if f.IsOpen() {
			open = append(open, f)
		}
	}
	return unique(open, func(f fleet.Fault) string { return f.Kind + "\x00" + strconv.Itoa(f.Code) + "\x00" + f.PCI })
}

// unique keeps the first of those with the same key.
func unique[T any](all []T, key func(T) string) []T {
	var out []T
	seen := map[string]bool{}
	for _, v := range all {
		if k := key(v); !seen[k] {
			seen[k] = true
			out = append(out, v)
		}
	}
	return out
}
