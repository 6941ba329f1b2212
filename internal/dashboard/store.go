package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"perfrun.dev/perfrun/api/v1alpha1"
)

// kind of objects that are followed.
type kind string

const (
	runs      kind = "PerfRuns"
	schedules kind = "PerfSchedules"
	series    kind = "PerfSeries"
)

var lists = map[kind]func() client.ObjectList{
	runs:      func() client.ObjectList { return &v1alpha1.PerfRunList{} },
	schedules: func() client.ObjectList { return &v1alpha1.PerfScheduleList{} },
	series:    func() client.ObjectList { return &v1alpha1.PerfSeriesList{} },
}

const (
	// pause before the API server is asked again after an error.
	pause = time.Second
	// patience with a list: the API server answers in less, or is not there.
	patience = 15 * time.Second
)

// store holds what the user may see of the cluster, as it is now.
type store struct {
	client client.WithWatch
	// fallback is the namespace to look in where the user may not look in all.
	fallback string

	mu sync.Mutex
	// version counts the changes.
	version int64
	kinds   map[kind]*followed
}

// followed are the objects of one kind.
type followed struct {
	// namespace that is looked in; empty: all.
	namespace string
	// narrowed: all namespaces were asked for, and refused.
	narrowed bool
	objects  map[client.ObjectKey]client.Object
	// listed: the API server has answered once.
	listed bool
	// problem is why the objects may be out of date; nil: they are not.
	problem error
	// since when they may be.
	since time.Time
}

func newStore(c client.WithWatch, namespace, fallback string) *store {
	s := &store{client: c, fallback: fallback, kinds: map[kind]*followed{}}
	for k := range lists {
		s.kinds[k] = &followed{namespace: namespace, objects: map[client.ObjectKey]client.Object{}}
	}
	return s
}

// run follows all kinds until the context ends.
func (s *store) run(ctx context.Context) {
	var wait sync.WaitGroup
	for k := range lists {
		wait.Go(func() { s.follow(ctx, k) })
	}
	wait.Wait()
}

// follow one kind: list, then watch; when the watch ends, again. A reflector of client-go does the same, but waits up to half a minute after an error.
func (s *store) follow(ctx context.Context, k kind) {
	for ctx.Err() == nil {
		err := s.listAndWatch(ctx, k)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			continue
		}
		if s.narrow(k, err) {
			continue
		}
		s.change(k, func(f *followed) {
			if f.problem == nil {
				f.since = time.Now()
			}
			f.problem = err
		})
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// narrow looks in one namespace, where all are not for the user to see.
func (s *store) narrow(k kind, err error) (narrowed bool) {
	if !apierrors.IsForbidden(err) || s.fallback == "" {
		return false
	}
	s.change(k, func(f *followed) {
		if f.namespace == "" {
			f.namespace, f.narrowed, narrowed = s.fallback, true, true
		}
	})
	return narrowed
}

func (s *store) listAndWatch(ctx context.Context, k kind) error {
	s.mu.Lock()
	in := client.InNamespace(s.kinds[k].namespace)
	s.mu.Unlock()
	list := lists[k]()
	short, stop := context.WithTimeout(ctx, patience)
	err := s.client.List(short, list, in)
	stop()
	if err != nil {
		return fmt.Errorf("listing %s: %w", k, err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("listing %s: %w", k, err)
	}
	s.change(k, func(f *followed) {
		clear(f.objects)
		for _, item := range items {
			put(f, item.(client.Object))
		}
		f.listed, f.problem = true, nil
	})
	w, err := s.client.Watch(ctx, lists[k](), in, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
	if err != nil {
		return fmt.Errorf("watching %s: %w", k, err)
	}
	defer w.Stop()
	return s.take(k, w)
}

// take what a watch tells until it ends.
func (s *store) take(k kind, w watch.Interface) error {
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return fmt.Errorf("watching %s: %w", k, apierrors.FromObject(event.Object))
		}
		object, ok := event.Object.(client.Object)
		if !ok {
			continue
		}
		s.change(k, func(f *followed) {
			if event.Type == watch.Deleted {
				delete(f.objects, client.ObjectKeyFromObject(object))
			} else {
				put(f, object)
			}
		})
	}
	return nil
}

func put(f *followed, o client.Object) {
	// Half of an object, and nothing that is shown.
	o.SetManagedFields(nil)
	f.objects[client.ObjectKeyFromObject(o)] = o
}

func (s *store) change(k kind, how func(*followed)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how(s.kinds[k])
	s.version++
}

// state of a kind, without its objects.
func (s *store) state(k kind) followed {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := *s.kinds[k]
	f.objects = nil
	return f
}

// now is the version of all that is known.
func (s *store) now() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// all objects of a kind, by namespace and name. They are shared, and not to be changed.
func all[T client.Object](s *store, k kind) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	objects := s.kinds[k].objects
	keys := slices.SortedFunc(maps.Keys(objects), func(a, b client.ObjectKey) int {
		if a.Namespace != b.Namespace {
			return cmp.Compare(a.Namespace, b.Namespace)
		}
		return cmp.Compare(a.Name, b.Name)
	})
	found := make([]T, len(keys))
	for i, key := range keys {
		found[i] = objects[key].(T)
	}
	return found
}

// one object; false where there is none.
func one[T client.Object](s *store, k kind, namespace, name string) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.kinds[k].objects[client.ObjectKey{Namespace: namespace, Name: name}].(T)
	return o, ok
}
