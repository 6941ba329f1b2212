# The same image as `make image` makes without a container engine: one static binary, nothing else.
FROM golang:1.26 AS build
ARG VERSION=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -tags=grpcnotrace -trimpath -ldflags="-s -w -X main.version=${VERSION}" -o /perfrun .

FROM scratch
COPY --from=build /perfrun /perfrun
# Numeric, so that the kubelet can tell that it is not root.
USER 65532:65532
ENTRYPOINT ["/perfrun"]
