// The state store that actor hosts of the end-to-end suite share.
module perfrun.dev/perfrun/test/e2e/redis

go 1.26.0

require github.com/alicebob/miniredis/v2 v2.36.1

require github.com/yuin/gopher-lua v1.1.1 // indirect
