package testkit

import (
	"os"
	"os/exec"
	"testing"
)

// needTools is set where everything that Tool and Missing may find missing is known to be there: scripts/test.sh does so where
// it could install the programs. A check that is left out then is a failure.
const needTools = "IOP_NEED_TOOLS"

// Tool finds a program that isn't this project's, also in /usr/sbin, where Debian has some and users' PATHs don't look. A test
// whose program isn't there is left out.
func Tool(t testing.TB, program string) (path string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + program)
	}
	if err != nil {
		Missing(t, program+" is not installed; scripts/deploy-tools.sh installs it on Debian")
	}
	return path
}

// Missing leaves a test out for want of something that not every machine has, or fails it where IOP_NEED_TOOLS is set.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(needTools) != "" {
		t.Fatalf("%s; with %s nothing is left out", what, needTools)
	}
	t.Skip(what)
}
