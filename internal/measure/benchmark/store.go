package benchmark

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/localrun"
	"shopfront/internal/measure/benchmark/stubstore"
	"shopfront/pkg/voucher"
)

const region = "us-east-1"

// store is what the functions keep things in while they are measured.
type store struct {
	name     string
	endpoint string
	env      []string // of the functions, beside the endpoint
	client   *dynamodb.Client
	// uses tells that a code can be redeemed once, and not on and on.
	uses bool
	// calls is how many calls were answered; nil: not known.
	calls func() int64
	stop  func() error
}

func newClient(endpoint string, options ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: region, BaseEndpoint: aws.String(endpoint), Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}, options...)
}

// startStub serves a stub with what it is filled with, that answers after the delay, over TLS as DynamoDB does. Its certificate is left in dir, for the
// functions to trust.
func startStub(
	ctx context.Context, dir, name string, delay time.Duration, fill func(context.Context, *dynamodb.Client) error,
) (*store, error) {
	kept := stubstore.New(delay)
	client := newClient("https://stub.invalid", func(o *dynamodb.Options) { o.HTTPClient = kept })
	certificate, pemFile, err := selfSigned(dir)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	// DynamoDB speaks HTTP/1.1 only.
	server := &http.Server{
		Handler: kept, ReadHeaderTimeout: patience, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		TLSNextProto: make(map[string]func(*http.Server, *tls.Conn, http.Handler)),
	}
	served := make(chan struct{})
	go func() {
		_ = server.ServeTLS(listener, "", "") // until it is closed
		close(served)
	}()
	stub := &store{
		name: name, endpoint: "https://" + listener.Addr().String(), env: []string{"SSL_CERT_FILE=" + pemFile, "SSL_CERT_DIR=" + filepath.Join(dir, "no-others")},
		client: client, calls: kept.Calls,
		stop: func() error {
			err := server.Close()
			<-served
			return err
		},
	}
	if err := fill(ctx, client); err != nil {
		return nil, errors.Join(err, stub.stop())
	}
	kept.Seal()
	return stub, nil
}

// selfSigned makes a certificate for 127.0.0.1, and a file of it.
func selfSigned(dir string) (tls.Certificate, string, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	file, err := os.CreateTemp(dir, "*.pem")
	if err != nil {
		return tls.Certificate{}, "", err
	}
	err = errors.Join(pem.Encode(file, &pem.Block{Type: "CERTIFICATE", Bytes: der}), file.Close())
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, file.Name(), err
}

// startLocal runs DynamoDB Local in memory, with the tables of the stack.
func startLocal(ctx context.Context, root string, progress io.Writer) (*store, error) {
	pomDir, libDir := dynamolocal.Dirs(root)
	if err := dynamolocal.Fetch(ctx, pomDir, libDir, progress); err != nil {
		return nil, err
	}
	server, err := dynamolocal.Start(ctx, dynamolocal.Options{LibDir: libDir})
	if err != nil {
		return nil, err
	}
	local := &store{name: "DynamoDB Local", endpoint: server.Endpoint(), client: newClient(server.Endpoint()), uses: true, stop: server.Stop}
	if err := MakeTables(ctx, root, local.client); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	if err := Fill(ctx, local.client, root); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return local, nil
}

// MakeTables creates the stack's tables, as the checkout at root has them, under the names that functions are told.
func MakeTables(ctx context.Context, root string, client *dynamodb.Client) error {
	template, err := localrun.LoadTemplate(root, "")
	if err != nil {
		return err
	}
	names := map[string]string{"CatalogueTable": CatalogueTable, "VouchersTable": VouchersTable, "CheckoutsTable": CheckoutsTable}
	for _, table := range template.Tables() {
		name, known := names[table.Output]
		if !known {
			return fmt.Errorf("the benchmark does not know the stack's %s", table.Output)
		}
		if _, err := client.CreateTable(ctx, table.CreateTable(name)); err != nil {
			return err
		}
	}
	return nil
}

// environment is what a function finds in its environment.
func (s *store) environment(table string) []string {
	return append([]string{
		"AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_ENDPOINT_URL_DYNAMODB=" + s.endpoint,
		"CATALOGUE_TABLE=" + CatalogueTable, "VOUCHERS_TABLE=" + VouchersTable, "CHECKOUTS_TABLE=" + CheckoutsTable,
		"STACK_NAME=shopfront-prod", "TABLE=" + table,
	}, s.env...)
}

// codes makes single-use codes that nobody has redeemed, written as they are compared, before they are needed.
func (s *store) codes(ctx context.Context, count int) ([]string, error) {
	codes := make([]string, count)
	for i := range codes {
		codes[i] = SingleUse
	}
	if !s.uses {
		return codes, nil
	}
	const writers = 4
	var writing sync.WaitGroup
	failures := make([]error, writers)
	for w := range writers {
		writing.Go(func() {
			for i := w; i < count && failures[w] == nil; i += writers {
				typed, err := voucher.GenerateCode(rand.Reader)
				if err == nil {
					err = createVoucher(ctx, s.client, voucher.Terms{Written: typed})
				}
				code, parseErr := voucher.ParseCode(typed)
				codes[i], failures[w] = string(code), errors.Join(err, parseErr)
			}
		})
	}
	writing.Wait()
	return codes, errors.Join(failures...)
}
