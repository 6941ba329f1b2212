package loadtester

import "time"

// schedule is when each request of a block is due, with the same number of calls on each thread. A thread is a connection.
//
// It is the one of Fortio with -uniform (runOne in fortio.org/fortio/periodic), to the nanosecond, so that the two send the same load:
// thread t of n starts t/n of an interval after the first. Its first call is due then; call i is due i + i/(calls-1) intervals later, so
// that the calls spread over the whole duration with the last one at its end.
type schedule struct {
	qps     float64
	threads int
	calls   int64
}

// due is the time from the start of the block to the intended send time of call i (from 0) of a thread.
func (s schedule) due(thread int, i int64) time.Duration {
	perThread := s.qps / float64(s.threads)
	between := 1. / perThread
	stagger := between - (between / float64(s.threads) * float64(s.threads-thread))
	due := time.Duration(stagger * float64(time.Second))
	if i > 0 {
		due += time.Duration(int64((float64(i) + float64(i)/float64(s.calls-1)) / perThread * 1e9))
	}
	return due
}

// length is the time that the requests of all threads take at the rate.
func (s schedule) length() time.Duration {
	return time.Duration(float64(s.calls*int64(s.threads)) / s.qps * float64(time.Second))
}
