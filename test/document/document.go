// Package document puts the results of a benchmark where a document has a place for them.
package document

import (
	"fmt"
	"os"
	"strings"
)

const end = "<!-- to here -->\n"

// Replace writes results into the document between the mark that names the command and the one that follows.
func Replace(path, command, results string) error {
	begin := fmt.Sprintf("<!-- %s writes from here -->\n", command)
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the document: %w", err)
	}
	before, rest, begins := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s does not hold the marks %q and %q", path, begin, end)
	}
	if err := os.WriteFile(path, []byte(before+begin+results+end+after), 0o644); err != nil { //nolint:gosec // a document for everyone
		return fmt.Errorf("writing the document: %w", err)
	}
	return nil
}
