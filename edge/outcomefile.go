package edge

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"iop/internal/wholefile"
	iopv1 "iop/proto/iop/v1"
)

// The file of outcomes is a line that names the format and the SHA-256 of the rest, and then an
// EdgeCommandQueryResponse: the outcomes, the oldest first, and as unknown ids the commands that ran when it was
// written. It is replaced as a whole, by a rename, and so is always one that was whole once.
const (
	outcomeFileMagic = "iop-edge outcomes 1 "
	// maxOutcomeFileBytes bounds it; the oldest outcomes are left out first. It is far less than what memory holds,
	// since it is written at the beginning and at the end of every command.
	maxOutcomeFileBytes = 512 << 10
)

var errOutcomeFile = errors.New("is not a file of outcomes, or was damaged")

// endedUnseen is what becomes of a command that ran when its process ended.
const endedUnseen = "The Edge was restarted while the command ran; how far it came is not known."

// outcomeFile keeps outcomes over a restart. The zero path keeps nothing.
type outcomeFile struct {
	path string
	lock io.Closer

	mu      sync.Mutex // one writes at a time, and an older state never over a newer one
	written uint64
}

// save writes what state gives, unless something as new as version is written already.
func (f *outcomeFile) save(version uint64, state func() (uint64, *iopv1.EdgeCommandQueryResponse)) error {
	if f.path == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.written >= version {
		return nil // whoever wrote just now wrote ours too
	}
	now, kept := state()
	data, err := encodeOutcomes(kept)
	if err != nil {
		return err
	}
	if err := wholefile.Write(f.path, data, 0o600); err != nil {
		return err
	}
	f.written = now
	return nil
}

// open takes the file at path for this Edge alone, until close, and reads it. A damaged one is put aside and counts as empty.
func (f *outcomeFile) open(path string, log *slog.Logger) (kept *iopv1.EdgeCommandQueryResponse, err error) {
	if path == "" {
		return &iopv1.EdgeCommandQueryResponse{}, nil
	}
	if f.path, err = wholefile.Target(path); err != nil {
		return nil, fmt.Errorf("edge: the state file can't be read: %w", err)
	}
	f.lock, err = wholefile.Lock(f.path)
	if errors.Is(err, wholefile.ErrLocked) {
		return nil, fmt.Errorf("edge: the state file %s is used by another Edge", path)
	}
	if err != nil { // most often of its directory, where nothing can be written
		return nil, fmt.Errorf("edge: the state file can't be written: %w", err)
	}
	if err := wholefile.RemoveLeft(f.path); err != nil {
		log.Warn("What a killed Edge left beside its state file can't be removed.", "file", path, "error", err)
	}
	kept, err = f.load()
	if errors.Is(err, errOutcomeFile) {
		aside := f.path + ".damaged"
		log.Warn("The state file is damaged; the Edge starts without the outcomes of earlier commands.", "file", path, "kept_as", aside)
		kept, err = &iopv1.EdgeCommandQueryResponse{}, os.Rename(f.path, aside)
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("edge: the state file can't be read: %w", err)
	}
	return kept, nil
}

// close leaves the file to others. Nothing may be saved after it.
func (f *outcomeFile) close() {
	if f.lock != nil {
		_ = f.lock.Close() // nothing was written there
	}
}

// load reads the file. A file that isn't there is empty.
func (f *outcomeFile) load() (*iopv1.EdgeCommandQueryResponse, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return &iopv1.EdgeCommandQueryResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxOutcomeFileBytes+1))
	if err != nil {
		return nil, err
	}
	return decodeOutcomes(data)
}

func encodeOutcomes(kept *iopv1.EdgeCommandQueryResponse) ([]byte, error) {
	body, err := proto.Marshal(kept)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, "%s%x\n", outcomeFileMagic, sha256.Sum256(body)), body...), nil
}

func decodeOutcomes(data []byte) (*iopv1.EdgeCommandQueryResponse, error) {
	line, body, ok := bytes.Cut(data, []byte("\n"))
	if len(data) > maxOutcomeFileBytes || !ok || string(line) != fmt.Sprintf("%s%x", outcomeFileMagic, sha256.Sum256(body)) {
		return nil, errOutcomeFile
	}
	kept := &iopv1.EdgeCommandQueryResponse{}
	if err := proto.Unmarshal(body, kept); err != nil {
		return nil, errOutcomeFile
	}
	return kept, nil
}

// restore takes outcomes from a file. What ran then has failed: it will not be run again, and nobody would tell its end.
func (o *outcomes) restore(kept *iopv1.EdgeCommandQueryResponse) {
	for _, r := range kept.Responses {
		if usableID(r.CommandId) {
			o.settle(r)
		}
	}
	for _, id := range kept.UnknownCommandIds {
		if usableID(id) {
			o.settle(&iopv1.EdgeCommandResponse{CommandId: id, Outcome: iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED, Message: endedUnseen})
		}
	}
}

// keep gives what is worth keeping, as much as the file may hold: what runs, and the newest outcomes.
func (o *outcomes) keep() *iopv1.EdgeCommandQueryResponse {
	kept := &iopv1.EdgeCommandQueryResponse{}
	for id := range o.running { // at most maxFresh+maxLasting
		kept.UnknownCommandIds = append(kept.UnknownCommandIds, id)
	}
	slices.Sort(kept.UnknownCommandIds)
	const perMessage = 8 // at most, of framing
	room := maxOutcomeFileBytes - 256 - proto.Size(kept)
	for _, id := range slices.Backward(o.order) {
		r := o.settled[id]
		if size := proto.Size(r) + perMessage; size > room && r.Result != nil {
			r = withoutResult(r)
		}
		size := proto.Size(r) + perMessage
		if size > room {
			break
		}
		room -= size
		kept.Responses = append(kept.Responses, r)
	}
	slices.Reverse(kept.Responses)
	return kept
}
