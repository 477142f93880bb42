"""Deploys the built stack to a simulation of AWS on this machine (moto), and compares what came of it with what was meant.

    rehearse.py SAM SHOPCTL

The templates are packaged by the SAM CLI and translated by the library that AWS translates them with. The simulation makes the
tables, functions, roles, log groups and the dashboard. Its CloudFormation has neither HTTP APIs nor alarms: of these, what the
template says is compared. In the end shopctl works on the stack. Every difference is told, and any is status 1.
"""

import ast
import hashlib
import io
import json
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile

import boto3
from moto.server import ThreadedMotoServer
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

ROOT = pathlib.Path(__file__).parents[2]
BUILT = ROOT / ".aws-sam" / "build"
STACK = "shopfront-rehearsal"
BUCKET = "shopfront-rehearsal"
REGION = "us-east-1"
API = "rehearsal0"
ENDPOINT = f"https://{API}.execute-api.{REGION}.amazonaws.com"
PARAMETERS = {
    "Alarms": "on",
    "AlarmEmail": "owner@shop.example",
    "Dashboard": "on",
    "AllowedOrigins": "https://shop.example",
    "LogRetentionDays": "90",
}

# What each function may do, and on which table of the stack.
GRANTS = {
    "redeem-voucher": {"VouchersTable": {"GetItem", "BatchGetItem", "UpdateItem"}},
    "checkout-area": {"CatalogueTable": {"GetItem", "Query"}},
    "checkout": {"CatalogueTable": {"BatchGetItem"}, "CheckoutsTable": {"GetItem", "PutItem"}},
    "checkout-variant": {"CatalogueTable": {"BatchGetItem"}, "CheckoutsTable": {"GetItem", "PutItem"}},
    "removed-payment": {},
    "api-docs": {},
}

differences = []


def compare(what, got, want):
    if got != want:
        differences.append(f"{what}: {got!r}, meant was {want!r}")


def logical_id(function):
    return "".join(part.capitalize() for part in function.split("-"))


def run(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def package(sam, server):
    """The packaged template, with what it refers to in the simulated S3, addressed as S3 is."""
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    with tempfile.TemporaryDirectory() as folder:
        packaged = pathlib.Path(folder, "packaged.yaml")
        run(sam, "package", "--template-file", BUILT / "template.yaml", "--s3-bucket", BUCKET, "--output-template-file", packaged)
        return packaged.read_text().replace(server, f"https://s3.{REGION}.amazonaws.com")


def translate(packaged):
    class NoManagedPolicies:
        def load(self):
            return {}

    return transform(yaml_parse(packaged), {**PARAMETERS, "AWS::Region": REGION}, NoManagedPolicies())


def resolve(value, condition):
    """A value of the translated template with its Fn::If taken, where all conditions are as given."""
    if isinstance(value, dict):
        if set(value) == {"Fn::If"}:
            return resolve(value["Fn::If"][1 if condition else 2], condition)
        return {k: resolve(v, condition) for k, v in value.items()}
    if isinstance(value, list):
        return [resolve(v, condition) for v in value]
    return value


def check_api(template, meant):
    """Holds the API of the translated template to the events of the one that was written."""
    api = template["Resources"]["Api"]["Properties"]["Body"]
    routes = {}
    for path, operations in api["paths"].items():
        for method, operation in operations.items():
            integration = operation["x-amazon-apigateway-integration"]
            compare(f"payload of {method} {path}", integration["payloadFormatVersion"], "2.0")
            routes[f"{method.upper()} {path}"] = re.search(r"\$\{(\w+)\.Arn\}", json.dumps(integration["uri"])).group(1)
    events = {
        f"{event['Properties']['Method']} {event['Properties']['Path']}": name
        for name, resource in meant["Resources"].items()
        if resource["Type"] == "AWS::Serverless::Function"
        for event in resource["Properties"]["Events"].values()
    }
    compare("routes", routes, events)
    stage = template["Resources"]["ApiApiGatewayDefaultStage"]["Properties"]
    compare("stage", stage["StageName"], "$default")
    compare("deployed by itself", stage["AutoDeploy"], True)
    compare(
        "limits of the stage",
        stage["DefaultRouteSettings"],
        {"ThrottlingRateLimit": {"Ref": "ThrottleRate"}, "ThrottlingBurstLimit": {"Ref": "ThrottleBurst"}},
    )
    cors = resolve(api["x-amazon-apigateway-cors"], condition=True)
    compare("methods that a browser may use", cors["allowMethods"], ["GET", "HEAD", "POST", "OPTIONS"])
    permitted = {
        json.dumps(r["Properties"]["FunctionName"])
        for r in template["Resources"].values()
        if r["Type"] == "AWS::Lambda::Permission" and r["Properties"]["Principal"] == "apigateway.amazonaws.com"
    }
    compare("functions that the API may call", permitted, {json.dumps({"Ref": name}) for name in events.values()})


def create(template):
    """Creates the stack and returns its outputs. The simulation knows no outputs of nested stacks: each is made beside it."""
    known = {"Ref": {"AWS::StackName": STACK, "Api": API}, "Fn::GetAtt": {("Api", "ApiEndpoint"): ENDPOINT}}
    for name, parameter in template["Parameters"].items():
        known["Ref"][name] = PARAMETERS.get(name, str(parameter["Default"]))
    nested = {n: r for n, r in template["Resources"].items() if r["Type"] == "AWS::CloudFormation::Stack"}
    body, parameters = nested_stack(nested.pop("Tables"), known)
    check_table_settings(body)
    tables = create_stack(f"{STACK}-Tables", body, parameters)
    known["Fn::GetAtt"].update({("Tables", f"Outputs.{name}"): value for name, value in tables.items()})

    absent = {"AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::Stage", "AWS::Lambda::Permission", "AWS::CloudFormation::Stack"}
    kept = {name: r for name, r in template["Resources"].items() if r["Type"] not in absent}
    root = substitute({**template, "Resources": kept}, {"Ref": {"Api": API}, "Fn::GetAtt": known["Fn::GetAtt"]})
    outputs = create_stack(STACK, json.dumps(root), PARAMETERS)
    known["Ref"].update(physical_ids())
    body, parameters = nested_stack(nested.pop("View"), known)
    create_stack(f"{STACK}-View", body, parameters)
    check_dashboard(parameters)
    check_alarms(*nested_stack(nested.pop("Watch"), known))
    compare("nested stacks that nothing looks at", list(nested), [])
    return outputs


def check_dashboard(parameters):
    """Every metric on the dashboard is of something that the stack has."""
    cloudwatch = boto3.client("cloudwatch")
    names = [entry["DashboardName"] for entry in cloudwatch.list_dashboards()["DashboardEntries"]]
    compare("number of dashboards", len(names), 1)
    for name in names:
        widgets = json.loads(cloudwatch.get_dashboard(DashboardName=name)["DashboardBody"])["widgets"]
        metrics = [metric for widget in widgets for metric in widget["properties"].get("metrics", []) if isinstance(metric[0], str)]
        for metric in metrics:
            dimensions = [part for part in metric[2:] if isinstance(part, str)]
            check_dimensions(f"metric {metric[1]} on the dashboard", zip(dimensions[::2], dimensions[1::2]), parameters)
        compare("a dashboard without metrics", bool(metrics), True)


def check_alarms(body, parameters):
    """The simulation's CloudFormation passes over alarms. In the template, each is of something that the stack has."""
    template = yaml_parse(body)
    compare("parameters of the alarms", sorted(parameters), sorted(template["Parameters"]))
    alarms = {n: r["Properties"] for n, r in template["Resources"].items() if r["Type"] == "AWS::CloudWatch::Alarm"}
    compare("a watch without alarms", bool(alarms), True)
    for name, alarm in substitute(alarms, {"Ref": parameters}).items():
        metrics = [alarm] + [m["MetricStat"]["Metric"] for m in alarm.get("Metrics", []) if "MetricStat" in m]
        dimensions = [(d["Name"], d["Value"]) for metric in metrics for d in metric.get("Dimensions", [])]
        compare(f"alarm {name} of nothing", bool(dimensions), True)
        check_dimensions(f"alarm {name}", dimensions, parameters)


def check_dimensions(what, dimensions, parameters):
    """Holds dimensions to what the parameters of a nested stack name."""
    functions = {parameters[logical_id(folder)] for folder in GRANTS}
    tables = {parameters[name] for name in ("CatalogueTable", "VouchersTable", "CheckoutsTable")}
    known = {"ApiId": {API}, "FunctionName": functions, "TableName": tables, "Stack": {STACK}}
    for name, value in dimensions:
        if name in known and value not in known[name]:
            differences.append(f"{what} is of {name} {value!r}, which the stack does not have")


def substitute(value, known):
    """A part of a template with the references that are known replaced by what they refer to."""
    if isinstance(value, dict) and len(value) == 1:
        (function, target), *_ = value.items()
        target = tuple(target) if function == "Fn::GetAtt" else target
        if function in known and isinstance(target, (str, tuple)) and target in known[function]:
            return known[function][target]
    if isinstance(value, dict):
        return {k: substitute(v, known) for k, v in value.items()}
    return [substitute(v, known) for v in value] if isinstance(value, list) else value


def nested_stack(resource, known):
    """The template of a nested stack, as it was uploaded, and its parameters."""
    properties = resource["Properties"]
    key = properties["TemplateURL"].rsplit("/", 1)[-1]
    body = boto3.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read().decode()
    return body, substitute(properties["Parameters"], known)


def create_stack(name, body, parameters):
    cloudformation = boto3.client("cloudformation")
    cloudformation.create_stack(
        StackName=name,
        TemplateBody=body,
        Parameters=[{"ParameterKey": k, "ParameterValue": v} for k, v in parameters.items()],
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
    )
    stack = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    compare(f"state of {name}", stack["StackStatus"], "CREATE_COMPLETE")
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def physical_ids():
    resources = boto3.client("cloudformation").describe_stack_resources(StackName=STACK)["StackResources"]
    return {r["LogicalResourceId"]: r["PhysicalResourceId"] for r in resources}


def check_tables(outputs):
    dynamodb = boto3.client("dynamodb")
    names = {name: outputs[name] for name in ("CatalogueTable", "VouchersTable", "CheckoutsTable")}
    compare("tables", set(dynamodb.list_tables()["TableNames"]), set(names.values()))
    for output, name in names.items():
        table = dynamodb.describe_table(TableName=name)["Table"]
        keys = [(key["AttributeName"], key["KeyType"]) for key in table["KeySchema"]]
        compare(f"key of {output}", keys, [("customer", "HASH"), ("sk", "RANGE")])
        compare(f"indexes of {output}", table.get("LocalSecondaryIndexes", []) + table.get("GlobalSecondaryIndexes", []), [])
        compare(f"billing of {output}", table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
        compare(f"deletion protection of {output}", table["DeletionProtectionEnabled"], True)


def check_table_settings(body):
    """The simulation passes over these settings of a table, so they are looked at in the template that was uploaded."""
    for name, table in yaml_parse(body)["Resources"].items():
        if table["Type"] != "AWS::DynamoDB::Table":
            continue
        compare(f"what a deleted stack leaves of {name}", (table["DeletionPolicy"], table["UpdateReplacePolicy"]), ("Retain", "Retain"))
        settings = table["Properties"]
        compare(f"recovery of {name}", settings["PointInTimeRecoverySpecification"], {"PointInTimeRecoveryEnabled": True})
        compare(f"encryption of {name}", settings["SSESpecification"], {"SSEEnabled": True})
        expiry = settings.get("TimeToLiveSpecification", {}).get("AttributeName")
        compare(f"expiry of {name}", expiry, "expiresAt" if name == "Checkouts" else None)


def check_functions(template, outputs):
    functions = {f["FunctionName"]: f for f in boto3.client("lambda").list_functions()["Functions"]}
    folders = sorted(p.parent.name for p in ROOT.glob("functions/*/main.go"))
    compare("functions that are granted something here", sorted(GRANTS), folders)
    compare("number of functions", len(functions), len(folders))
    physical = physical_ids()
    for folder in folders:
        function = functions[physical[logical_id(folder)]]
        compare(f"runtime of {folder}", function["Runtime"], "provided.al2023")
        # The simulation passes over the processor.
        compare(f"processor of {folder}", template["Resources"][logical_id(folder)]["Properties"]["Architectures"], [{"Ref": "Architecture"}])
        compare(f"seconds that {folder} has", function["Timeout"], 10)
        compare(f"tracing of {folder}", function["TracingConfig"]["Mode"], "PassThrough")
        check_code(folder, function)
        tables = {name: outputs[name] for name in GRANTS[folder]}
        settings = {f"{name.removesuffix('Table').upper()}_TABLE": table for name, table in tables.items()}
        variables = function["Environment"]["Variables"]
        compare(f"tables of {folder}", {k: v for k, v in variables.items() if k.endswith("_TABLE")}, settings)
        compare(f"endpoint of {folder}", variables.get("AWS_ENDPOINT_URL_DYNAMODB", ""), "")
        log_group = check_logs(folder)
        check_role(folder, function["Role"], tables, log_group)


def check_code(folder, function):
    """The zip that was uploaded has the program that was built, and nothing else."""
    code = boto3.client("lambda").get_function(FunctionName=function["FunctionName"])["Code"]
    key = code["Location"].split("?")[0].rsplit("/", 1)[-1] if "Location" in code else code["S3Key"]
    body = boto3.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read()
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        compare(f"files of {folder}", archive.namelist(), ["bootstrap"])
        compare(f"size of {folder} as AWS has it", function["CodeSize"], len(body))
        uploaded = hashlib.sha256(archive.read("bootstrap")).hexdigest()
    built = hashlib.sha256((BUILT / logical_id(folder) / "bootstrap").read_bytes()).hexdigest()
    compare(f"program of {folder}", uploaded, built)


def check_logs(folder):
    name = f"/shopfront/{STACK}/{folder}"
    groups = boto3.client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    group = next((g for g in groups if g["logGroupName"] == name), None)
    compare(f"days that logs of {folder} are kept", group and group.get("retentionInDays"), 90)
    return group["arn"].removesuffix(":*") if group else None  # AWS's ARN of a log group ends with it, the simulation's does not


def check_role(folder, role, tables, log_group):
    iam = boto3.client("iam")
    name = role.rsplit("/", 1)[-1]
    compare(f"managed policies of {folder}", iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"], [])
    granted = {}
    for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
        document = iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
        # The simulation keeps it as Python writes it, with a None for AWS::NoValue.
        for statement in filter(None, ast.literal_eval(document)["Statement"]):
            compare(f"effect of a statement of {folder}", statement["Effect"], "Allow")
            granted.setdefault(statement["Resource"], set()).update(statement["Action"])
    account = role.split(":")[4]
    meant = {log_group: {"logs:CreateLogStream", "logs:PutLogEvents"}}
    for output, table in tables.items():
        arn = f"arn:aws:dynamodb:{REGION}:{account}:table/{table}"
        meant[arn] = {f"dynamodb:{action}" for action in GRANTS[folder][output]}
    compare(f"what {folder} may do", granted, meant)


def check_operator(shopctl):
    """An operator's first day, on the tables of the stack."""
    target = (shopctl, "--stack", STACK)
    status = json.loads(run(*target, "status", "--json"))
    compare("address that shopctl tells", status["baseUrl"], ENDPOINT)
    run(*target, "catalog", "apply", "examples/demo.yaml")
    run(*target, "voucher", "create", "emberforge", "HARVEST-25", "--reward", "25%", "--max-uses", "250")
    voucher = json.loads(run(*target, "voucher", "show", "emberforge", "HARVEST-25", "--json"))
    compare("uses left of a new code", voucher["usesLeft"], 250)


def main():
    sam, shopctl = sys.argv[1:]
    os.environ.update(AWS_ACCESS_KEY_ID="rehearsal", AWS_SECRET_ACCESS_KEY="rehearsal", AWS_REGION=REGION, AWS_DEFAULT_REGION=REGION)
    for name in list(os.environ):  # nothing may lead to anything but the simulation
        if name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") or name.startswith("AWS_ENDPOINT_URL"):
            del os.environ[name]
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="moto")  # of the wait condition in infra/tables.yaml, which does nothing
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    os.environ["AWS_ENDPOINT_URL"] = address
    try:
        template = translate(package(sam, address))
        check_api(template, yaml_parse((ROOT / "template.yaml").read_text()))
        outputs = create(template)
        check_tables(outputs)
        check_functions(template, outputs)
        check_operator(shopctl)
    finally:
        server.stop()
    if differences:
        sys.exit("\n".join(differences))
    print(f"The simulated stack is as meant: the tables, {len(GRANTS)} functions with their roles and logs, API, alarms and dashboard; and shopctl works on it.")


if __name__ == "__main__":
    main()
