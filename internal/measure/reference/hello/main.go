// Command hello is the smallest Lambda function: what every function costs.
package main

import "github.com/aws/aws-lambda-go/lambda"

func main() { lambda.Start(func() (string, error) { return "hello", nil }) }
