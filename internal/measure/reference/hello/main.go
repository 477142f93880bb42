// Command hello is the smallest Lambda function. It shows the cost that every function has.
package main

import "github.com/aws/aws-lambda-go/lambda"

func main() { lambda.Start(func() (string, error) { return "hello", nil }) }
