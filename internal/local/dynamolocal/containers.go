package dynamolocal

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// dockerBridge is the network interface through which containers reach this machine if Docker runs without a virtual
// machine.
const dockerBridge = "docker0"

// ContainerEndpoint returns the server's URL for containers. Inside a container, this machine must have the name
// host.docker.internal. Docker Desktop forwards that name to 127.0.0.1, but Docker on Linux does not. On Linux, a relay
// listens on Docker's bridge until the server ends. It serves only containers on that bridge.
func (s *Server) ContainerEndpoint(ctx context.Context) (string, error) {
	endpoint, err := url.Parse(s.endpoint)
	if err != nil {
		return "", err
	}
	if bridge, err := net.InterfaceByName(dockerBridge); err == nil {
		if err := s.relayOn(ctx, bridge, endpoint); err != nil {
			return "", fmt.Errorf("make DynamoDB Local reachable from containers: %w", err)
		}
	}
	return "http://host.docker.internal:" + endpoint.Port(), nil
}

func (s *Server) relayOn(ctx context.Context, bridge *net.Interface, endpoint *url.URL) error {
	addresses, err := bridge.Addrs()
	if err != nil || len(addresses) == 0 {
		return err
	}
	address, network, err := net.ParseCIDR(addresses[0].String())
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(address.String(), endpoint.Port()))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: relay(network, endpoint), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // until Close
	go func() {
		<-s.done
		_ = server.Close()
	}()
	return nil
}

// relay forwards requests that come from the network to the endpoint, and refuses all other requests.
func relay(network *net.IPNet, endpoint *url.URL) http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(endpoint)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		if !network.Contains(net.ParseIP(host)) {
			http.Error(w, "only containers of this machine may use DynamoDB Local", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}
