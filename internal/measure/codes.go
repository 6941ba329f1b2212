package measure

import (
	"strconv"

	"google.golang.org/grpc/codes"
)

// NoAnswer is the code of a request without a whole answer: no connection, or a timeout.
const NoAnswer = -1

// FirstGRPCCode is added to the codes of gRPC where errors are counted by number, so that none is taken for a status of HTTP.
const FirstGRPCCode = 1000

// CodeName is how an error's code is shown: a status of HTTP and NoAnswer as the number, a code of gRPC by its name, such as Unavailable.
func CodeName(code int) string {
	if code >= FirstGRPCCode {
		return codes.Code(code - FirstGRPCCode).String() //nolint:gosec // gRPC has 17 of them
	}
	return strconv.Itoa(code)
}
