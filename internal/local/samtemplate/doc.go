// Package samtemplate reads the definition of the stack, template.yaml and the templates that it nests, so that the local
// run and the tests take every route, function, table and variable from where a deployment takes them.
//
// It knows the part of CloudFormation and of the AWS Serverless Application Model that those templates use: parameters, rules,
// conditions, outputs, globals, nested stacks and the intrinsic functions Ref, GetAtt, Sub, If, Equals, Not, And, Or,
// Condition, Join, Select and Split. Whatever it does not know is an error with the file and the line, rather than a
// difference between the laptop and the cloud that nobody is told about:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-reference.html,
// https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification.html.
//
// Nothing that is deployed may import it. It imports none of the shop's packages.
package samtemplate
