module perfrun.dev/perfrun

go 1.26.0

require (
	fortio.org/fortio v1.75.3
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/onsi/ginkgo/v2 v2.34.0
	github.com/onsi/gomega v1.44.0
	k8s.io/metrics v0.37.2
	sigs.k8s.io/controller-runtime v0.25.2
)
