package wire

// Over HTTPS a client sends GET Path with "Connection: Upgrade" and "Upgrade:
// UpgradeName"; the agent answers 101 and the connection then carries frames both
// ways. Whoever may not read gets 401 or 403 and no frame.
const (
	Path        = "/v1/frames"
	UpgradeName = "gpuctl-agent"
)
