// An xDS server of go-control-plane that sends RateLimitConfig resources as the controllers of Envoy Gateway and Envoy AI
// Gateway do: aggregated discovery, state of the world, and a snapshot for each node id.
//
//	program HOST:PORT
//
// Writes lines of JSON: its address, then each request of a client. Reads a snapshot from each line of its input, and
// ends with its input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"net"
	"os"
	"sync"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
)

// Snapshots of many rules are long lines.
const maxLine = 1 << 24

// snapshot is all that the clients with a node id get, in place of what they had.
type snapshot struct {
	Node    string
	Version string
	// RateLimitConfig in the JSON form of protobuf.
	Resources []json.RawMessage
}

// request is what a client asks for, or says about a response.
type request struct {
	Node string `json:"node"`
	// About is the version of the response. Empty in the first request of a stream.
	About string `json:"about"`
	// Accepted is the version that the client has accepted last.
	Accepted string `json:"accepted"`
	// Refusal says why the client has not accepted the response.
	Refusal string `json:"refusal"`
}

// response is one of those that clients have got.
type response struct {
	stream int64
	nonce  string
}

// watcher writes the requests of clients.
type watcher struct {
	sync.Mutex
	// nodes by stream, because only the first request of a stream must name its node.
	nodes    map[int64]string
	versions map[response]string
}

func (w *watcher) requested(stream int64, r *discovery.DiscoveryRequest) error {
	w.Lock()
	defer w.Unlock()
	if r.Node != nil {
		w.nodes[stream] = r.Node.Id
	}
	about := w.versions[response{stream, r.ResponseNonce}]
	write(request{w.nodes[stream], about, r.VersionInfo, r.GetErrorDetail().GetMessage()})
	return nil
}

func (w *watcher) responded(_ context.Context, stream int64, _ *discovery.DiscoveryRequest, r *discovery.DiscoveryResponse) {
	w.Lock()
	defer w.Unlock()
	w.versions[response{stream, r.Nonce}] = r.VersionInfo
}

func write(line any) {
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		log.Fatal(err)
	}
}

// set does what the controllers do when their rules have changed.
func set(snapshots cache.SnapshotCache, line []byte) error {
	var next snapshot
	if err := json.Unmarshal(line, &next); err != nil {
		return err
	}
	configs := make([]types.Resource, len(next.Resources))
	for i, text := range next.Resources {
		config := &ratelimit.RateLimitConfig{}
		if err := protojson.Unmarshal(text, config); err != nil {
			return err
		}
		configs[i] = config
	}
	resources := map[resource.Type][]types.Resource{resource.RateLimitConfigType: configs}
	made, err := cache.NewSnapshot(next.Version, resources)
	if err != nil {
		return err
	}
	return snapshots.SetSnapshot(context.Background(), next.Node, made)
}

func main() {
	snapshots := cache.NewSnapshotCache(false, cache.IDHash{}, nil)
	seen := &watcher{nodes: map[int64]string{}, versions: map[response]string{}}
	callbacks := server.CallbackFuncs{StreamRequestFunc: seen.requested, StreamResponseFunc: seen.responded}
	serving := grpc.NewServer()
	ads := server.NewServer(context.Background(), snapshots, callbacks)
	discovery.RegisterAggregatedDiscoveryServiceServer(serving, ads)
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	write(map[string]string{"address": listener.Addr().String()})
	go func() { log.Fatal(serving.Serve(listener)) }()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if err := set(snapshots, lines.Bytes()); err != nil {
			log.Fatal(err)
		}
	}
}
