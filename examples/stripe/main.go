// Command stripe is the server of a shop that sells with Shopfront and takes payments with Stripe. README.md says how
// to try it.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/stripe/stripe-go/v85"

	"shopfront/pkg/client"
)

// patience is how long a request may take. It leaves time for a second attempt at Shopfront.
const patience = 20 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	err := run(ctx, os.Getenv, log)
	stop()
	if err != nil {
		log.ErrorContext(ctx, "the server ended", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. Then it finishes the requests in flight.
func run(ctx context.Context, getenv func(string) string, log *slog.Logger) error {
	t, err := newTill(getenv, log)
	if err != nil {
		return err
	}
	server := &http.Server{
		Addr: ":" + port(getenv), Handler: t.handler(), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: patience + 10*time.Second,
		IdleTimeout: time.Minute,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	log.InfoContext(ctx, "open", "shop", t.ownURL)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return server.Shutdown(closing)
}

// newTill reads the configuration, which README.md describes. The error names every variable that is missing.
func newTill(getenv func(string) string, log *slog.Logger) (*till, error) {
	var missing []string
	required := func(name string) string {
		value := getenv(name)
		if value == "" {
			missing = append(missing, name)
		}
		return value
	}
	shopURL, shopKey := required("SHOP_URL"), required("SHOP_KEY")
	stripeKey, webhookSecret := required("STRIPE_SECRET_KEY"), required("STRIPE_WEBHOOK_SECRET")
	if missing != nil {
		return nil, fmt.Errorf("set the environment variables %s", strings.Join(missing, ", "))
	}
	baseURL, shopID, _ := strings.Cut(shopURL, "/shop/")
	shop, err := client.New(baseURL, shopID, client.WithServerKey(shopKey))
	if err != nil {
		return nil, fmt.Errorf("SHOP_URL must look like https://shop.example/shop/SHOP, and SHOP_KEY must be a "+
			"key of that shop: %w", err)
	}
	backends := stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL: new(cmp.Or(getenv("STRIPE_API"), stripe.APIURL)),
		// the library would log what shoppers sent; till logs the errors
		LeveledLogger:   &stripe.LeveledLogger{Level: stripe.LevelNull},
		EnableTelemetry: new(false),
	})
	return &till{
		shop: shop, stripe: stripe.NewClient(stripeKey, stripe.WithBackends(backends)), webhookSecret: webhookSecret,
		ownURL: cmp.Or(getenv("OWN_URL"), "http://localhost:"+port(getenv)), log: log,
		deliver: func(ctx context.Context, order client.PlacedOrder) error {
			log.InfoContext(ctx, "delivered", "product", order.Product, "variant", order.Variant, "amount",
				order.Amount)
			return nil
		},
		nick: func(*http.Request) string { return "" },
		address: func(r *http.Request) netip.Addr {
			connection, _ := netip.ParseAddrPort(r.RemoteAddr) // always valid in a request of net/http
			return connection.Addr()
		},
	}, nil
}

func port(getenv func(string) string) string { return cmp.Or(getenv("PORT"), "4242") }
