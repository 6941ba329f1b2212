// Crdcheck compares two versions of a CustomResourceDefinition, and fails where an object that the former accepts, stored in a cluster or
// kept in Git, would be refused or cut short by the latter.
//
//	go run ./hack/crdcheck config/crd/released/perfrun.dev_perfruns.yaml config/crd/bases/perfrun.dev_perfruns.yaml
package main

import (
	"fmt"
	"os"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: crdcheck FORMER LATTER")
		os.Exit(2)
	}
	var crds [2]apiextensions.CustomResourceDefinition
	for i := range crds {
		text, err := os.ReadFile(os.Args[i+1])
		if err == nil {
			err = yaml.UnmarshalStrict(text, &crds[i])
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "crdcheck: reading %s: %v\n", os.Args[i+1], err)
			os.Exit(2)
		}
	}
	faults := compare(&crds[0], &crds[1])
	for _, fault := range faults {
		fmt.Fprintln(os.Stderr, fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}
