// Calls a server with grpc-go. Writes what it saw as one line of JSON.
//
//	client HOST:PORT CALLS            makes calls of several kinds
//	client HOST:PORT METHOD MESSAGE   calls a method until its input ends; the message is in hexadecimal
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
)

// Calls that may be open at the same time under load.
const window = 200

// asBytes leaves messages as they are.
type asBytes struct{}

func (asBytes) Marshal(message any) ([]byte, error) { return message.([]byte), nil }

func (asBytes) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = bytes.Clone(data)
	return nil
}

func (asBytes) Name() string { return "proto" }

type client struct{ channel *grpc.ClientConn }

func (c client) call(ctx context.Context, method string, request []byte, options ...grpc.CallOption) ([]byte, error) {
	var response []byte
	err := c.channel.Invoke(ctx, "/s/"+method, request, &response, options...)
	return response, err
}

func (c client) mustCall(method string, request []byte, options ...grpc.CallOption) []byte {
	response, err := c.call(context.Background(), method, request, options...)
	if err != nil {
		panic(err)
	}
	return response
}

func (c client) deadline() string {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := c.call(ctx, "Silent", nil)
	return status.Code(err).String()
}

// load cancels every fourth call about when it begins.
func (c client) load(calls int) map[string]int {
	outcomes := map[string]int{}
	var lock sync.Mutex
	var running sync.WaitGroup
	open := make(chan struct{}, window)
	for i := range calls {
		open <- struct{}{}
		running.Add(1)
		go func() {
			defer running.Done()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i%4 == 3 {
				go cancel()
			}
			response, err := c.call(ctx, "Echo", []byte("hello"))
			lock.Lock()
			outcomes[outcomeOf(response, err)]++
			lock.Unlock()
			<-open
		}()
	}
	running.Wait()
	return outcomes
}

func outcomeOf(response []byte, err error) string {
	switch {
	case err == nil && string(response) == "hello":
		return "ok"
	case err == nil:
		return "wrong"
	case status.Code(err) == codes.Canceled:
		return "cancelled"
	default:
		return err.Error()
	}
}

func open() *grpc.ClientConn {
	channel, err := grpc.NewClient(os.Args[1],
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(asBytes{})),
		grpc.WithNoProxy())
	if err != nil {
		panic(err)
	}
	return channel
}

func main() {
	if len(os.Args) == 4 {
		fmt.Println(steady(open, os.Args[2], os.Args[3]))
		return
	}
	calls, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	channel := open()
	defer channel.Close()
	c := client{channel}
	large := bytes.Repeat([]byte("x"), 1_000_000)
	compressed := grpc.UseCompressor(gzip.Name)
	seen, err := json.Marshal(map[string]any{
		"echo":     string(c.mustCall("Echo", []byte("hello"))),
		"large":    bytes.Equal(c.mustCall("Echo", large), large),
		"gzip":     bytes.Equal(c.mustCall("Echo", large, compressed), large),
		"encoding": string(c.mustCall("Encoding", large, compressed)),
		"deadline": c.deadline(),
		"load":     c.load(calls),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(seen))
}
