package samtemplate

import (
	"strings"
	"time"
)

// Route says which function answers a method and path.
type Route struct {
	Method   string // in upper case, or ANY
	Path     string // "/shop/{customer}/checkout"
	Function string // Function.Name
}

// CORS is the CORS configuration of an HTTP API:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html.
type CORS struct {
	AllowOrigins                              []string
	AllowMethods, AllowHeaders, ExposeHeaders []string
	MaxAge                                    time.Duration
	AllowCredentials                          bool
}

// Throttle limits a stage as a token bucket does:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html.
type Throttle struct {
	Rate  int // requests a second
	Burst int // requests
}

// readAPI reads the one HTTP API.
func (t *Template) readAPI(s *stack) error {
	apis, err := s.all(typeAPI)
	if err != nil {
		return err
	}
	switch len(apis) {
	case 0:
		return nil
	case 1:
	default:
		return apis[1].at.errorf("%s is a second HTTP API, and only one is supported here", apis[1].name)
	}
	v, err := s.properties(apis[0])
	d := decoder{err: err}
	properties := d.mapping(v, "StageName", "DefaultRouteSettings", "CorsConfiguration")
	d.oneOf(properties["StageName"], "$default")
	settings := d.mapping(properties["DefaultRouteSettings"], "ThrottlingRateLimit", "ThrottlingBurstLimit")
	t.throttle = Throttle{
		Rate: d.number(settings["ThrottlingRateLimit"], 0), Burst: d.number(settings["ThrottlingBurstLimit"], 0),
	}
	if c := properties["CorsConfiguration"]; c.exists() {
		cors := d.mapping(c, "AllowOrigins", "AllowMethods", "AllowHeaders", "ExposeHeaders", "MaxAge", "AllowCredentials")
		t.cors = &CORS{
			AllowOrigins:     d.texts(cors["AllowOrigins"]),
			AllowMethods:     d.texts(cors["AllowMethods"]),
			AllowHeaders:     d.texts(cors["AllowHeaders"]),
			ExposeHeaders:    d.texts(cors["ExposeHeaders"]),
			MaxAge:           time.Duration(d.number(cors["MaxAge"], 0)) * time.Second,
			AllowCredentials: d.flag(cors["AllowCredentials"]),
		}
	}
	return d.err
}

// readRoutes reads the events of a function: only requests to the HTTP API invoke one here.
func readRoutes(d *decoder, s *stack, function string, events value) []Route {
	var routes []Route
	for _, name := range d.names(events) {
		event := d.mapping(events.dict[name], "Type", "Properties")
		kind := event["Type"]
		if d.err == nil && kind.text != "HttpApi" {
			d.fail(events.dict[name].at.errorf("an event of type %s is not supported here", kind.describe()))
		}
		properties := d.mapping(event["Properties"], "ApiId", "Method", "Path")
		api, ok := strings.CutPrefix(strings.Trim(properties["ApiId"].text, referenceMark), s.address)
		if d.err == nil && (!ok || s.resources[api].kind != typeAPI) {
			d.fail(events.dict[name].at.errorf("the event %s is not for an HTTP API of this template: it wants ApiId", name))
		}
		route := Route{
			Method:   strings.ToUpper(d.text(properties["Method"], "")),
			Path:     d.text(properties["Path"], ""),
			Function: function,
		}
		if d.err == nil && (route.Method == "" || route.Path == "") {
			d.fail(events.dict[name].at.errorf("the event %s wants Method and Path", name))
		}
		routes = append(routes, route)
	}
	return routes
}
