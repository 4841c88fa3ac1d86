// Checks proofs and checkpoints that the service has made, with verifiers of others: the proofs
// with github.com/transparency-dev/merkle, the checkpoints with golang.org/x/mod/sumdb/note.
//
//	node proofs.ts > PROOFS && go run . < PROOFS
//
// It also changes each proof in every place, and each text of a checkpoint in every bit. It ends
// with 1 where a proof is refused, or a changed one is accepted.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
)

type line struct {
	Kind     string
	Index    uint64
	Size     uint64
	From     uint64
	To       uint64
	Leaf     string
	Path     []string
	Root     string
	FromRoot string `json:"from_root"`
	ToRoot   string `json:"to_root"`
	Origin   string
	Key      string
	Note     string
}

type counts struct {
	proofs, refused, changed, accepted int
}

func (c *counts) right(err error) {
	c.proofs++
	if err != nil {
		c.refused++
		fmt.Fprintln(os.Stderr, "refused:", err)
	}
}

func (c *counts) wrong(err error) {
	c.changed++
	if err == nil {
		c.accepted++
		fmt.Fprintln(os.Stderr, "a changed proof was accepted")
	}
}

func bytesOf(text string) []byte {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return bytes
}

func pathOf(texts []string) [][]byte {
	path := make([][]byte, len(texts))
	for at, text := range texts {
		path[at] = bytesOf(text)
	}
	return path
}

// One bit of a hash, another one for each number.
func flipped(hash []byte, number int) []byte {
	changed := slices.Clone(hash)
	bit := (number * 37) % (8 * len(hash))
	changed[bit/8] ^= 1 << (bit % 8)
	return changed
}

// All paths that differ from a path in one hash, or in their length.
func changedPaths(path [][]byte, number int) [][][]byte {
	var all [][][]byte
	for at := range path {
		changed := slices.Clone(path)
		changed[at] = flipped(path[at], number+at)
		all = append(all, changed, slices.Delete(slices.Clone(path), at, at+1))
	}
	return append(all, append(slices.Clone(path), make([]byte, 32)))
}

func checkInclusion(l line, number int, c *counts) {
	hasher := rfc6962.DefaultHasher
	leaf, path, root := hasher.HashLeaf(bytesOf(l.Leaf)), pathOf(l.Path), bytesOf(l.Root)
	verify := func(index uint64, leaf []byte, path [][]byte, root []byte) error {
		return proof.VerifyInclusion(hasher, index, l.Size, leaf, path, root)
	}
	c.right(verify(l.Index, leaf, path, root))
	for _, changed := range changedPaths(path, number) {
		c.wrong(verify(l.Index, leaf, changed, root))
	}
	c.wrong(verify(l.Index, flipped(leaf, number), path, root))
	c.wrong(verify(l.Index, leaf, path, flipped(root, number)))
	if l.Size > 1 {
		c.wrong(verify((l.Index+1)%l.Size, leaf, path, root))
	}
}

func checkConsistency(l line, number int, c *counts) {
	path, older, newer := pathOf(l.Path), bytesOf(l.FromRoot), bytesOf(l.ToRoot)
	verify := func(from uint64, path [][]byte, older []byte, newer []byte) error {
		return proof.VerifyConsistency(rfc6962.DefaultHasher, from, l.To, path, older, newer)
	}
	c.right(verify(l.From, path, older, newer))
	for _, changed := range changedPaths(path, number) {
		c.wrong(verify(l.From, changed, older, newer))
	}
	c.wrong(verify(l.From, path, flipped(older, number), newer))
	c.wrong(verify(l.From, path, older, flipped(newer, number)))
	if l.From > 1 {
		c.wrong(verify(l.From-1, path, older, newer))
	}
}

func checkCheckpoint(l line, c *counts) {
	verifier, err := note.NewVerifier(l.Key)
	if err != nil {
		panic(err)
	}
	known := note.VerifierList(verifier)
	opened, err := note.Open([]byte(l.Note), known)
	if err == nil && opened.Text != fmt.Sprintf("%s\n%d\n%s\n", l.Origin, l.Size, l.Root) {
		err = fmt.Errorf("the checkpoint says %q", opened.Text)
	}
	c.right(err)
	text := strings.Index(l.Note, "\n\n") + 1
	for bit := range 8 * text {
		changed := []byte(l.Note)
		changed[bit/8] ^= 1 << (bit % 8)
		_, err := note.Open(changed, known)
		c.wrong(err)
	}
}

func main() {
	all := map[string]*counts{"inclusion": {}, "consistency": {}, "checkpoint": {}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for number := 0; lines.Scan(); number++ {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			panic(err)
		}
		switch l.Kind {
		case "inclusion":
			checkInclusion(l, number, all[l.Kind])
		case "consistency":
			checkConsistency(l, number, all[l.Kind])
		case "checkpoint":
			checkCheckpoint(l, all[l.Kind])
		default:
			panic("a line of an unknown kind: " + l.Kind)
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
	isRight := true
	for _, kind := range []string{"inclusion", "consistency", "checkpoint"} {
		c := all[kind]
		fmt.Printf("%-12s %7d proofs, %d refused; %8d changed, %d accepted\n",
			kind, c.proofs, c.refused, c.changed, c.accepted)
		isRight = isRight && c.proofs > 0 && c.refused == 0 && c.accepted == 0
	}
	if !isRight {
		os.Exit(1)
	}
}
