// Command api-docs is the Lambda function that serves the OpenAPI document of the interface, a page to read it and to
// try requests, and the interface's changelog as a page and a feed.
package main

import (
	"context"
	"net/http"

	"shopfront/api"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/lambdahttp"
)

func main() { lambdahttp.Start(build) }

func build(_ context.Context, env lambdahttp.Environment) http.Handler {
	const html = "text/html; charset=utf-8"
	return env.Service().Documents(
		api.Policy(),
		httpapi.Document{Path: "/openapi.json", ContentType: "application/json", Content: api.OpenAPI()},
		httpapi.Document{Path: "/docs", ContentType: html, Content: api.DocsPage()},
		httpapi.Document{Path: "/changelog", ContentType: html, Content: api.ChangelogPage()},
		httpapi.Document{
			Path: "/changelog.rss", ContentType: "application/rss+xml; charset=utf-8", Content: api.Feed(),
			Origin: api.Origin,
		},
	)
}
