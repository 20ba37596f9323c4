package actions

// Confirmation is what the operator gave to let a plan run.
type Confirmation struct {
	// Yes answers GuardConfirm.
	Yes bool
	// Word is what was typed at GuardTyped; it must equal Plan.Word. It answers
	// GuardConfirm too.
	Word string
	// Override lifts the cap of nodes in a window: the name of the cluster whose
	// cap it is, typed.
	Override string
}
