package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"sync"

	"google.golang.org/grpc"
)

const (
	// Connections of a steady load.
	connections = 8
	// Callers of each connection, which make one call after the other.
	callersEach = 4
)

// steady calls a method until the input of the program ends, and counts how many calls ended in which way.
func steady(open func() *grpc.ClientConn, method string, message string) string {
	request, err := hex.DecodeString(message)
	if err != nil {
		panic(err)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	outcomes := map[string]int{}
	var lock sync.Mutex
	var running sync.WaitGroup
	for range connections {
		channel := open()
		defer channel.Close()
		for range callersEach {
			running.Add(1)
			go func() {
				defer running.Done()
				for isOpen(ended) {
					var response []byte
					outcome := "ok"
					if err := channel.Invoke(context.Background(), method, request, &response); err != nil {
						outcome = err.Error()
					}
					lock.Lock()
					outcomes[outcome]++
					lock.Unlock()
				}
			}()
		}
	}
	running.Wait()
	seen, err := json.Marshal(outcomes)
	if err != nil {
		panic(err)
	}
	return string(seen)
}

func isOpen(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return false
	default:
		return true
	}
}
