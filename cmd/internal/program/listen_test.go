package program

import "testing"

func TestListen(t *testing.T) {
	first, err := Listen("a.listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	address := first.Addr().String()
	want := "b.listen: the address " + address + " is taken; stop what listens there, or choose another"
	if _, err := Listen("b.listen", address); err == nil || err.Error() != want {
		t.Errorf("a taken address: %v, want %s", err, want)
	}
	if _, err := Listen("c.listen", "203.0.113.1:0"); err == nil {
		t.Error("it listens at another machine's address")
	}
}
