package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// patience with the operator, which needs seconds.
const patience = 3 * time.Minute

func (s *server) run(i int) *v1alpha1.PerfRun {
	return &v1alpha1.PerfRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespaces[i%len(s.namespaces)], Name: fmt.Sprintf("run-%04d", i)},
		Spec:       s.sample,
	}
}

// create makes n runs at once, and returns when the operator has given each of them a place.
func (s *server) create(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	created := make(chan error, 1)
	go func() {
		err := inParallel(n, func(i int) error { return s.admin.Create(ctx, s.run(i)) })
		fmt.Fprintf(os.Stderr, "  %d created after %s\n", n, time.Since(began).Round(10*time.Millisecond))
		created <- err
	}()
	placed := map[string]bool{}
	for len(placed) < n {
		if err := s.watchPlaced(ctx, n, placed); err != nil {
			return fmt.Errorf("%d of %d PerfRuns are queued after %s: %w", len(placed), n, time.Since(began), err)
		}
	}
	if err := <-created; err != nil {
		return fmt.Errorf("creating PerfRuns: %w", err)
	}
	fmt.Fprintf(os.Stderr, "  %d queued after %s\n", n, time.Since(began).Round(10*time.Millisecond))
	return nil
}

// watchPlaced notes the runs that have a phase until there are n, or until the API server ends the watch; another one begins with those
// that there are.
func (s *server) watchPlaced(ctx context.Context, n int, placed map[string]bool) error {
	watch, err := s.admin.Watch(ctx, &v1alpha1.PerfRunList{})
	if err != nil {
		return fmt.Errorf("watching PerfRuns: %w", err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if run, ok := event.Object.(*v1alpha1.PerfRun); ok && run.Status.Phase != "" {
			placed[run.Namespace+"/"+run.Name] = true
		}
		if len(placed) == n {
			break
		}
	}
	return ctx.Err()
}

// finish gives the n runs the status that a real one ended with, the last of the queue first, so that nobody moves up meanwhile.
func (s *server) finish(ctx context.Context, n int) error {
	finished := &unstructured.Unstructured{}
	if err := readYAML(finishedFile, finished); err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"status": finished.Object["status"]})
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	fmt.Fprintf(os.Stderr, "  each status has %d bytes\n", len(patch))
	first, err := s.first(ctx)
	if err != nil {
		return err
	}
	end := func(i int) error {
		run := s.run(i)
		if err := s.admin.Status().Patch(ctx, run, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			return fmt.Errorf("finishing %s: %w", run.Name, err)
		}
		return nil
	}
	err = inParallel(n, func(i int) error {
		if s.run(i).Name == first {
			return nil
		}
		return end(i)
	})
	if err != nil {
		return err
	}
	for i := range n {
		if s.run(i).Name == first {
			return end(i)
		}
	}
	return nil
}

// first is the name of the run that has left the queue.
func (s *server) first(ctx context.Context) (string, error) {
	var runs v1alpha1.PerfRunList
	if err := s.admin.List(ctx, &runs); err != nil {
		return "", fmt.Errorf("listing PerfRuns: %w", err)
	}
	for _, run := range runs.Items {
		if run.Status.Phase == v1alpha1.PhasePreparing {
			return run.Name, nil
		}
	}
	return "", fmt.Errorf("none of %d PerfRuns is preparing", len(runs.Items))
}

// prepare makes one run and returns when it waits for its pods, which nobody starts here.
func (s *server) prepare(ctx context.Context, name string) (*v1alpha1.PerfRun, error) {
	run := s.run(0)
	run.Name = name
	if err := s.admin.Create(ctx, run); err != nil {
		return nil, fmt.Errorf("creating PerfRun %s: %w", name, err)
	}
	return run, s.await(ctx, run, "wait for its pods", func(run *v1alpha1.PerfRun) bool {
		c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
		return c != nil && c.Message == "waiting for the pods to be created"
	})
}

func (s *server) await(ctx context.Context, run *v1alpha1.PerfRun, what string, done func(*v1alpha1.PerfRun) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err := s.admin.Get(ctx, client.ObjectKeyFromObject(run), run); err != nil {
			return fmt.Errorf("waiting for PerfRun %s to %s: %w", run.Name, what, err)
		}
		if done(run) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}
