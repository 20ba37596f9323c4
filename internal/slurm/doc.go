// Package slurm is the client of one Slurm cluster. It knows Slurm's words and
// three ways to say them, and no policy.
//
//	Client ── reads: the cheapest transport ── writes: the first that can
//	   ├── command transport over local exec   (scontrol, squeue, sacct, ...)
//	   ├── command transport over SSH          (the same argv, quoted once)
//	   └── REST transport                      (slurmrestd, v0.0.38 and later)
//
// Whichever transport answers, the result is the same fleet nouns. One tolerant
// decoder exists for each shape; a record it cannot read is kept with what was not
// understood in its Oddities, and harms only itself.
//
// Exit codes and HTTP codes are not believed: 22.05 answers 200 with its errors
// filled in, and a DELETE of another's job answers 200 with the refusal in status[].
// A write's error is what Slurm was seen to say, its success is only ever what a
// read-back shows.
//
// It imports fleet and remote.
package slurm
