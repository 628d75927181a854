package wire

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	iopv1 "iop/proto/iop/v1"
)

func TestHeartbeat(t *testing.T) {
	const byDefault = 7 * time.Second
	for told, want := range map[time.Duration]time.Duration{
		0: byDefault, -time.Second: byDefault, math.MinInt64: byDefault, 1: 10 * time.Millisecond, time.Second: time.Second,
		time.Hour: 5 * time.Minute, math.MaxInt64: 5 * time.Minute,
	} {
		if got := Heartbeat(told, byDefault); got != want {
			t.Errorf("%v becomes %v, want %v", told, got, want)
		}
	}
	if got := SilentAfter(10 * time.Second); got != 25*time.Second {
		t.Errorf("silent after %v", got)
	}
}

func TestFrameLimit(t *testing.T) {
	for announced, want := range map[uint32]int{0: 1 << 20, 1024: 1024, 64 << 20: 64 << 20, math.MaxUint32: 64 << 20} {
		if got := FrameLimit(announced); got != want {
			t.Errorf("%d becomes %d, want %d", announced, got, want)
		}
	}
}

func TestReconnectAfter(t *testing.T) {
	for _, c := range []struct {
		asked *durationpb.Duration
		want  time.Duration
	}{
		{nil, 0},
		{durationpb.New(-time.Hour), 0},
		{durationpb.New(20 * time.Second), 20 * time.Second},
		{durationpb.New(math.MaxInt64), time.Hour},
		{&durationpb.Duration{Seconds: 1, Nanos: -1}, 0}, // not valid
		{&durationpb.Duration{Seconds: math.MaxInt64}, 0},
	} {
		if got := ReconnectAfter(&iopv1.GoAway{ReconnectAfter: c.asked}); got != c.want {
			t.Errorf("%v becomes %v, want %v", c.asked, got, c.want)
		}
	}
}

func TestHelloOver(t *testing.T) {
	most, long := strings.Repeat("x", MaxTextBytes), strings.Repeat("x", MaxTextBytes+1)
	labels := map[string]string{}
	for i := range MaxLabels {
		labels[fmt.Sprint(i)] = most
	}
	if over := HelloOver(map[string]string{"name": most, "version": ""}, labels); over != nil {
		t.Errorf("at the limits it is %q", over)
	}
	labels["k"], labels[long] = long, ""
	want := []string{`66 labels are over 64`, `label "` + strings.Repeat("x", 40) + `": key or value is over 256 bytes`, `label "k": key or value is over 256 bytes`, "name is over 256 bytes"}
	slices.Sort(want)
	if over := HelloOver(map[string]string{"name": long, "version": most}, labels); !slices.Equal(over, want) {
		t.Errorf("over the limits it is %q, want %q", over, want)
	}
}
