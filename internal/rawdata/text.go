package rawdata

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"perfrun.dev/perfrun/internal/stats"
)

// WritePercentiles prints percentiles (0..100) of response and service time as a table, a row for each group and percentile. A percentile
// with fewer than 10 samples beyond it is "-"; 100 is the largest sample.
func (d *Document) WritePercentiles(w io.Writer, s Selection, percentiles []float64) error {
	groups, err := d.Groups(s)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ARM\tCONNECTIONS\tBLOCKS\tREQUESTS\tERRORS\tPERCENTILE\tRESPONSE\tSERVICE")
	missing := false
	for _, g := range groups {
		for _, p := range percentiles {
			response, ok := percentile(g.Histograms[Response], p)
			service, okay := percentile(g.Histograms[Service], p)
			missing = missing || !ok || !okay
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", g.Arm, g.Connections, g.Blocks, g.Succeeded+g.Failed(), g.Failed(),
				strconv.FormatFloat(p, 'f', -1, 64), response, service)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing percentiles: %w", err)
	}
	if missing {
		_, err = fmt.Fprintln(w, "-: fewer than 10 samples lie beyond this percentile; it would be another number in the next run")
	}
	return err
}

func percentile(h *stats.Histogram, p float64) (text string, ok bool) {
	if p == 100 && h.Count() > 0 {
		return latency(h.Max()), true
	}
	d, ok := h.Quantile(p / 100)
	if !ok {
		return "-", false
	}
	return latency(d), true
}

// latency as the status writes it.
func latency(d time.Duration) string { return strings.Replace(d.String(), "µs", "us", 1) }

// WriteJSON prints the document for people and programs alike.
func (d *Document) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("printing the document: %w", err)
	}
	return nil
}
