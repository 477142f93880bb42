// Command storefront is the Lambda function of GET /shop/{customer}, which shows the shop as a page, and of the files
// that the page loads.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/areafunction"
	"shopfront/pkg/storefront"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) http.Handler {
	service, area := areafunction.New(ctx, env)
	return service.Storefront(area, storefront.NewSite(), env.DemoPaymentURL())
}
