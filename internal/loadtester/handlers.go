package loadtester

import (
	"fmt"
	"net/http"

	"perfrun.dev/perfrun/internal/measure"
)

// known finds the attempt that a path names.
func (s *Server) known(handle func(http.ResponseWriter, *http.Request, *attempt)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		a := s.attempt
		s.mu.Unlock()
		if a == nil || a.plan.Attempt != r.PathValue("attempt") {
			refuse(w, http.StatusNotFound, "attempt %q is not known to instance %s", r.PathValue("attempt"), s.info.Instance)
			return
		}
		handle(w, r, a)
	}
}

// start begins an attempt, once.
func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	plan := &measure.Plan{}
	if !decode(w, r, measure.MaxPlanBytes, plan) {
		return
	}
	a, status, err := s.admit(plan)
	if err != nil {
		refuse(w, status, "%v", err)
		return
	}
	answer(w, status, a.progress())
}

// admit decides what to do with a plan, and does it. One attempt is all that a process ever makes: what comes after it would be
// measured in another state of the process than what came first.
func (s *Server) admit(plan *measure.Plan) (a *attempt, status int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempt != nil && s.attempt.plan.Attempt == plan.Attempt && plan.Run == s.info.Run && plan.Instance == s.info.Instance {
		return s.attempt, http.StatusOK, nil
	}
	if err := s.check(plan); err != nil {
		return nil, http.StatusBadRequest, err
	}
	if plan.Instance != s.info.Instance {
		return nil, http.StatusConflict, fmt.Errorf("the plan is for instance %s, this is %s: the load tester was restarted", plan.Instance, s.info.Instance)
	}
	if s.attempt != nil {
		return nil, http.StatusConflict, fmt.Errorf("attempt %q was posted before", s.attempt.plan.Attempt)
	}
	s.log.Info("attempt begins", "attempt", plan.Attempt, "blocks", len(plan.Blocks), "rps", plan.RPS, "load", plan.LoadTime())
	s.attempt = begin(s.life, plan, s.opts.ProcRoot)
	go s.logEnd(s.attempt)
	return s.attempt, http.StatusCreated, nil
}

func (s *Server) check(plan *measure.Plan) error {
	if err := plan.Validate(); err != nil {
		return err
	}
	if plan.Run != s.info.Run {
		return fmt.Errorf("the plan is for run %s, this load tester is for %s", plan.Run, s.info.Run)
	}
	if err := plan.Within(s.opts.Target); err != nil {
		return err
	}
	return CheckMemory(plan)
}

func (s *Server) logEnd(a *attempt) {
	<-a.ended
	p := a.progress()
	s.log.Info("attempt ended", "attempt", p.Attempt, "state", p.State, "cause", p.Cause, "message", p.Message)
}

func postWindows(w http.ResponseWriter, r *http.Request, a *attempt) {
	var windows []measure.Window
	if !decode(w, r, measure.MaxWindowsBytes, &windows) {
		return
	}
	if !a.addWindows(windows) {
		refuse(w, http.StatusRequestEntityTooLarge, "more than %d windows", maxWindows)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func getReport(w http.ResponseWriter, _ *http.Request, a *attempt) {
	report := a.result()
	if report == nil {
		refuse(w, http.StatusConflict, "the attempt is %s, there is a report once it is Done", a.progress().State)
		return
	}
	answer(w, http.StatusOK, report)
}
