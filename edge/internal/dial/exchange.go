package dial

import (
	"net"
	"time"

	"google.golang.org/protobuf/proto"

	"iop/wire"
)

// HelloTimeout is how long a hello and its answer may take together.
const HelloTimeout = 10 * time.Second

// First is the first exchange on a connection.
type First[A Answer] struct {
	Answer         A
	Sent, Received time.Time
	Frames         *wire.FrameReader // what comes after the answer
}

// Exchange writes a hello and waits for its answer, whatever that says.
func Exchange[A Answer](conn net.Conn, hello proto.Message, decode func(payload []byte) (A, error)) (*First[A], *Ending) {
	f := &First[A]{Sent: time.Now(), Frames: wire.NewFrameReader(conn, wire.MaxHelloBytes)}
	_ = conn.SetDeadline(f.Sent.Add(HelloTimeout))
	frame, err := wire.AppendFrame(nil, hello)
	if err != nil {
		return nil, &Ending{Why: "The hello can't be encoded: " + err.Error(), Hopeless: true}
	}
	if _, err := conn.Write(frame); err != nil {
		return nil, &Ending{Why: "The hello could not be sent: " + err.Error()}
	}
	payload, err := f.Frames.Next()
	if err != nil {
		return nil, &Ending{Why: "The hello was not answered: " + err.Error()}
	}
	f.Received = time.Now()
	if f.Answer, err = decode(payload); err != nil {
		return nil, &Ending{Why: "The answer to the hello can't be decoded."}
	}
	_ = conn.SetDeadline(time.Time{})
	return f, nil
}
