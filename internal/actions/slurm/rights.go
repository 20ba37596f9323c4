package slurm

import (
	"fmt"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Who may do what, as seen on every version: an Operator may requeue, hold and
// cancel anyone's job but may not change a node ("Invalid user id"); an
// Administrator may. A user may act on jobs of their own.

func needAdministrator(p *planner) {
	switch p.hello.Role {
	case fleet.RoleUser, fleet.RoleOperator:
		p.block(actions.BlockRight, fmt.Sprintf(
			"%s is %s on %s: changing a node needs AdminLevel=Administrator (sacctmgr modify user %s set adminlevel=administrator)",
			p.hello.User, roleWords(p.hello.Role), p.cluster, p.hello.User))
	case fleet.RoleUnknown:
		p.warn("%s's rights on %s are not known; changing a node needs AdminLevel=Administrator", p.hello.User, p.cluster)
	}
}

func needOperator(p *planner) {
	if p.hello.Role == fleet.RoleUser {
		p.block(actions.BlockRight, fmt.Sprintf(
			"%s is a plain user on %s: %s needs AdminLevel=Operator", p.hello.User, p.cluster, p.req.Verb))
	}
}

// mayTouch reports whether the identity may act on the job, and records why not.
func (p *planner) mayTouch(t actions.Target, j *fleet.Job) bool {
	if p.hello.Role != fleet.RoleUser || p.hello.User == j.User {
		return true
	}
	p.refuse(actions.BlockRight, t, jobState(j), fmt.Sprintf(
		"belongs to %s, and %s is a plain user on %s: acting on it needs AdminLevel=Operator", j.User, p.hello.User, p.cluster))
	return false
}

// operatorOrMore reports whether the identity is known to have at least
// AdminLevel=Operator; unknown counts as yes, for Slurm itself will say no.
func (p *planner) operatorOrMore() bool { return p.hello.Role != fleet.RoleUser }

func roleWords(r fleet.Role) string {
	if r == fleet.RoleUser {
		return "a plain user"
	}
	return "only " + string(r)
}
