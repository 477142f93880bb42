"""Deploys the built stack to a simulation of AWS (moto) on this machine, twice, and checks the result.

    rehearse.py SAM SHOPCTL

It runs `sam deploy --config-env prod` and infra/deployment.py as `make deploy` does, then shopctl on the stack.
It prints every difference from what was intended, and exits with status 1 if there is one.

Limits: moto does not run the serverless transform, so this script runs AWS's library for it when a change set is created. moto's
CloudFormation has no HTTP APIs, permissions or alarms, and would need Docker for functions that a stream invokes. The script checks APIs,
permissions, event source mappings and schedules in the translated template; the tests in infra check the alarms' template. moto does
not update tables, log groups or reserved concurrency. It ignores stack policies, time to live, recovery, encryption and a function's
processor. It has no termination protection, so this script stores the flag itself. The SAM CLI's
own bucket is not created. Quotas, durations and decisions of IAM are not simulated.
"""

import ast
import hashlib
import io
import json
import logging
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import warnings
import zipfile

import boto3
from moto.cloudformation import models, responses
from moto.server import ThreadedMotoServer
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

ROOT = pathlib.Path(__file__).parents[2]
BUILT = ROOT / ".aws-sam" / "build"
STACK = "shopfront-prod"
BUCKET = "shopfront-rehearsal"
REGION = "us-east-1"
API = "rehearsal0"
ENDPOINT = f"https://{API}.execute-api.{REGION}.amazonaws.com"
TABLES = ("CatalogueTable", "VouchersTable", "CheckoutsTable", "RefusalsTable", "EventsTable")
STREAMED = ("VouchersTable", "CheckoutsTable", "EventsTable")
OPTIONS = {"AlarmEmail": "owner@shop.example", "AllowedOrigins": "https://shop.example", "EventBus": "shops"}
NESTED = "AWS::CloudFormation::Stack"
NOT_SIMULATED = (
    "AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::Stage", "AWS::Lambda::Permission", "AWS::Lambda::EventSourceMapping", "AWS::Events::Rule")

# What each function may do on which table, index or stream.
READING = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}
CHECKING_OUT = {
    "CatalogueTable": {"BatchGetItem"}, "CheckoutsTable": {"GetItem", "PutItem", "UpdateItem"},
    "VouchersTable": {"GetItem", "BatchGetItem", "UpdateItem", "ConditionCheckItem"}, "RefusalsTable": {"UpdateItem"},
}
# A hold does not change the reward, limit per nick or number of parts of a code.
ONLY_HOLDS = {"ForAllValues:StringNotEquals": {"dynamodb:Attributes": ["reward", "currency", "perNick", "parts"]}}
GRANTS = {
    "redeem-voucher": {
        "CatalogueTable": {"BatchGetItem"},
        "VouchersTable": {"GetItem", "BatchGetItem", "UpdateItem", "ConditionCheckItem"},
        "RefusalsTable": {"UpdateItem"},
    },
    "checkout-area": {"CatalogueTable": {"GetItem", "BatchGetItem", "Query"}},
    "storefront": {"CatalogueTable": {"GetItem", "BatchGetItem", "Query"}},
    "checkout": CHECKING_OUT,
    "checkout-variant": CHECKING_OUT,
    "show-checkout": {"CatalogueTable": {"BatchGetItem"}, "CheckoutsTable": {"GetItem", "Query"}},
    "release-checkout": {
        "CatalogueTable": {"BatchGetItem"}, "CheckoutsTable": {"GetItem", "UpdateItem"},
        "VouchersTable": {"UpdateItem"},
    },
    "place-order": {
        "CatalogueTable": {"BatchGetItem"}, "CheckoutsTable": {"GetItem", "UpdateItem"},
        "VouchersTable": {"GetItem", "UpdateItem", "ConditionCheckItem"},
    },
    "list-orders": {"CatalogueTable": {"BatchGetItem"}, "CheckoutsTable": {"GetItem"}, "CheckoutsTable/index/orders": {"Query"}},
    "show-order": {"CatalogueTable": {"BatchGetItem"}, "CheckoutsTable": {"GetItem"}},
    "fulfil-order": {"CatalogueTable": {"BatchGetItem"}, "CheckoutsTable": {"GetItem", "UpdateItem"}},
    "cancel-order": {
        "CatalogueTable": {"BatchGetItem"}, "CheckoutsTable": {"GetItem", "UpdateItem"},
        "VouchersTable": {"UpdateItem", "PutItem"},
    },
    "list-redemptions": {"CatalogueTable": {"BatchGetItem"}, "VouchersTable": {"GetItem", "Query"}},
    "undo-redemption": {
        "CatalogueTable": {"BatchGetItem"}, "CheckoutsTable": {"GetItem"},
        "VouchersTable": {"GetItem", "UpdateItem", "PutItem"},
    },
    "list-events": {"CatalogueTable": {"BatchGetItem"}, "EventsTable": {"GetItem", "BatchGetItem", "Query"}},
    "record-events": {
        "VouchersTable": {"GetItem", "BatchGetItem"}, "VouchersTable/stream/*": READING, "CheckoutsTable": {"BatchGetItem"},
        "CheckoutsTable/stream/*": READING, "EventsTable": {"Query", "PutItem", "UpdateItem", "DeleteItem"},
    },
    "publish-events": {"EventsTable": {"GetItem", "BatchGetItem"}, "EventsTable/stream/*": READING},
    "removed-payment": {},
    "api-docs": {},
}

differences = []
translated = []  # the templates that CloudFormation received, after the serverless transform


def compare(what, got, want):
    if got != want:
        differences.append(f"{what}: {got!r}, want {want!r}")


def logical_id(function):
    return "".join(part.capitalize() for part in function.split("-"))


def run(*command, **options):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def complete_simulation():
    """Adds what moto lacks: the transform and the outputs of change sets, termination protection, and templates in the simulated S3."""
    create_change_set, apply = models.CloudFormationBackend.create_change_set, models.ChangeSet.apply

    def with_transform(backend, stack_name, change_set_name, template, parameters, **options):
        parsed = yaml_parse(template)
        if parsed.get("Transform") == "AWS::Serverless-2016-10-31":
            # Without the defaults, the first update would treat each of them as a change.
            parameters = {name: str(p["Default"]) for name, p in parsed["Parameters"].items()} | parameters
            parsed = transform(parsed, parameters | {"AWS::Region": REGION}, NoManagedPolicies())
            translated.append(parsed)
            kept = {name: r for name, r in parsed["Resources"].items() if r["Type"] not in NOT_SIMULATED}
            parsed = substitute_api({**parsed, "Resources": kept})
        return create_change_set(backend, stack_name, change_set_name, json.dumps(parsed), parameters, **options)

    def apply_with_outputs(change_set):
        apply(change_set)
        change_set.stack.template_dict, change_set.stack.parameters = change_set.template_dict, change_set.parameters
        change_set.stack.output_map = change_set.stack._create_output_map()

    def update_termination_protection(response):
        stack = response.cloudformation_backend.get_stack(response._get_param("StackName"))
        stack.enable_termination_protection = response._get_param("EnableTerminationProtection") in (True, "true")
        return responses.ActionResult({"StackId": stack.stack_id})

    def read_template(url, **_):
        bucket, key = urllib.parse.urlparse(url).path.lstrip("/").split("/", 1)
        return boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read().decode()

    models.CloudFormationBackend.create_change_set = with_transform
    models.ChangeSet.apply = apply_with_outputs
    responses.CloudFormationResponse.update_termination_protection = update_termination_protection
    models.get_stack_from_s3_url = responses.get_stack_from_s3_url = read_template


class NoManagedPolicies:
    def load(self):
        return {}


def substitute_api(value):
    """The template with a fixed ID and address for the API, because moto creates none."""
    if isinstance(value, dict):
        if value == {"Ref": "Api"}:
            return API
        if value == {"Fn::GetAtt": ["Api", "ApiEndpoint"]}:
            return ENDPOINT
        return {k: substitute_api(v) for k, v in value.items()}
    return [substitute_api(v) for v in value] if isinstance(value, list) else value


def deploy(sam, **parameters):
    """Deploys as `make deploy ENV=prod` does, with further parameters, and returns the outputs."""
    python = pathlib.Path(sam).parent / "python"
    run(python, "infra/deployment.py", "check", "prod")
    overrides = [f"{name}={value}" for name, value in (OPTIONS | parameters).items()]
    run(sam, "deploy", "--config-env", "prod", "--no-confirm-changeset", "--no-resolve-s3", "--s3-bucket", BUCKET,
        "--parameter-overrides", "file://infra/parameters/prod.yaml", *overrides)
    run(python, "infra/deployment.py", "protect", "prod")
    stack = boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]
    compare("termination protection", stack["EnableTerminationProtection"], True)
    policy = json.loads(boto3.client("cloudformation").get_stack_policy(StackName=STACK)["StackPolicyBody"])
    compare("stack policy", policy, json.loads((ROOT / "infra" / "stack-policy.json").read_text()))
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def check_api():
    """Compares the API of the translated template with the events in template.yaml."""
    template, source = translated[-1], yaml_parse((ROOT / "template.yaml").read_text())
    routes = {}
    for path, operations in template["Resources"]["Api"]["Properties"]["Body"]["paths"].items():
        condition, operations = operations.get("Fn::If", ["", operations])[:2]
        compare(f"condition of {path}", condition, "HasEvents" if path.endswith("/events") else "")
        for method, operation in operations.items():
            operation = operation.get("Fn::If", ["", operation])[1]
            integration = operation["x-amazon-apigateway-integration"]
            compare(f"payload of {method} {path}", integration["payloadFormatVersion"], "2.0")
            routes[f"{method.upper()} {path}"] = re.search(r"\$\{(\w+)\.Arn\}", json.dumps(integration["uri"])).group(1)
    events = {
        f"{event['Properties']['Method']} {event['Properties']['Path']}": name
        for name, resource in source["Resources"].items()
        if resource["Type"] == "AWS::Serverless::Function"
        for event in resource["Properties"]["Events"].values()
        if event["Type"] == "HttpApi"
    }
    compare("routes", routes, events)
    stage = template["Resources"]["ApiApiGatewayDefaultStage"]["Properties"]
    compare("stage", (stage["StageName"], stage["AutoDeploy"]), ("$default", True))
    limits = {"ThrottlingRateLimit": {"Ref": "ThrottleRate"}, "ThrottlingBurstLimit": {"Ref": "ThrottleBurst"}}
    compare("limits of the stage", stage["DefaultRouteSettings"], limits)
    compare("access logs of the stage", stage["AccessLogSettings"], source["Resources"]["Api"]["Properties"]["AccessLogSettings"])
    compare("stage of the domain", template["Resources"]["DomainMapping"]["Properties"]["Stage"], {"Ref": "ApiApiGatewayDefaultStage"})
    endpoint = template["Resources"]["Api"]["Properties"]["Body"]["servers"][0]["x-amazon-apigateway-endpoint-configuration"]
    compare("own address of the API", endpoint, {"disableExecuteApiEndpoint": {"Fn::If": ["HasDomain", True, False]}})
    permitted = {
        json.dumps(r["Properties"]["FunctionName"])
        for r in template["Resources"].values()
        if r["Type"] == "AWS::Lambda::Permission" and r["Properties"]["Principal"] == "apigateway.amazonaws.com"
    }
    compare("functions that the API may call", permitted, {json.dumps({"Ref": name}) for name in events.values()})


def check_event_sources():
    """Compares the event source mappings and schedules of the translated template with the events in template.yaml."""
    template, source = translated[-1]["Resources"], yaml_parse((ROOT / "template.yaml").read_text())["Resources"]
    found, want = [], []
    for name, resource in template.items():
        if resource["Type"] == "AWS::Lambda::EventSourceMapping":
            properties = dict(resource["Properties"])
            found.append((properties.pop("FunctionName"), properties.pop("EventSourceArn"), resource["Condition"], properties))
        if resource["Type"] == "AWS::Events::Rule":
            (target,) = resource["Properties"]["Targets"]
            compare(f"target and rate of {name}", (target["Arn"], resource["Properties"]["ScheduleExpression"]),
                    ({"Fn::GetAtt": ["RecordEvents", "Arn"]}, "rate(1 minute)"))
    for function in ("RecordEvents", "PublishEvents"):
        for event in source[function]["Properties"]["Events"].values():
            if event["Type"] == "DynamoDB":
                properties = dict(event["Properties"])
                want.append(({"Ref": function}, properties.pop("Stream"), source[function]["Condition"], properties))
    compare("event source mappings", *(sorted(json.dumps(m, sort_keys=True) for m in mappings) for mappings in (found, want)))
    compare("schedules", [r["Type"] for r in template.values()].count("AWS::Events::Rule"), 1)


def check_tables(outputs):
    dynamodb = boto3.client("dynamodb")
    names = {name: outputs[name] for name in TABLES}
    compare("tables", set(dynamodb.list_tables()["TableNames"]), set(names.values()))
    for output, name in names.items():
        table = dynamodb.describe_table(TableName=name)["Table"]
        keys = [(key["AttributeName"], key["KeyType"]) for key in table["KeySchema"]]
        compare(f"key of {output}", keys, [("customer", "HASH"), ("sk", "RANGE")])
        compare(f"local indexes of {output}", table.get("LocalSecondaryIndexes", []), [])
        indexes = [i["IndexName"] for i in table.get("GlobalSecondaryIndexes", [])]
        compare(f"indexes of {output}", indexes, ["orders"] if output == "CheckoutsTable" else [])
        compare(f"billing of {output}", table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
        compare(f"deletion protection of {output}", table["DeletionProtectionEnabled"], output != "RefusalsTable")
        compare(f"stream of {output}", table.get("StreamSpecification", {}).get("StreamViewType"), "NEW_AND_OLD_IMAGES" if output in STREAMED else None)


def physical_ids():
    """The IDs of the resources, except for nested stacks, which moto recreates in every update."""
    resources = boto3.client("cloudformation").describe_stack_resources(StackName=STACK)["StackResources"]
    return {r["LogicalResourceId"]: r["PhysicalResourceId"] for r in resources if r.get("ResourceType", NESTED) != NESTED}


def check_functions(outputs):
    functions = {f["FunctionName"]: f for f in boto3.client("lambda").list_functions()["Functions"]}
    folders = sorted(p.parent.name for p in ROOT.glob("functions/*/main.go"))
    compare("functions in GRANTS", sorted(GRANTS), folders)
    compare("number of functions", len(functions), len(folders))
    check_logs("access", days=30)
    physical = physical_ids()
    for folder in folders:
        function = functions[physical[logical_id(folder)]]
        settings = (function["Runtime"], function["Timeout"], function["TracingConfig"]["Mode"])
        timeout = 60 if folder in ("record-events", "publish-events") else 10
        compare(f"runtime, timeout and tracing of {folder}", settings, ("provided.al2023", timeout, "PassThrough"))
        check_code(folder, function)
        tables = {name: outputs[name] for name in GRANTS[folder] if "/" not in name}
        variables = function["Environment"]["Variables"]
        want = {f"{name.removesuffix('Table').upper()}_TABLE": table for name, table in tables.items()}
        compare(f"tables of {folder}", {k: v for k, v in variables.items() if k.endswith("_TABLE")}, want)
        compare(f"endpoint of {folder}", variables.get("AWS_ENDPOINT_URL_DYNAMODB", ""), "")
        check_role(folder, function["Role"], tables, check_logs(folder))


def check_code(folder, function):
    """Checks that the uploaded zip contains only the built program."""
    code = boto3.client("lambda").get_function(FunctionName=function["FunctionName"])["Code"]
    name = code["Location"].split("?")[0].rsplit("/", 1)[-1] if "Location" in code else code["S3Key"]
    body = boto3.client("s3").get_object(Bucket=BUCKET, Key=f"{STACK}/{name}")["Body"].read()
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        compare(f"files of {folder}", archive.namelist(), ["bootstrap"])
        compare(f"size of {folder}", function["CodeSize"], len(body))
        uploaded = hashlib.sha256(archive.read("bootstrap")).hexdigest()
    compare(f"program of {folder}", uploaded, hashlib.sha256((BUILT / logical_id(folder) / "bootstrap").read_bytes()).hexdigest())


def check_logs(folder, days=90):
    name = f"/shopfront/{STACK}/{folder}"
    groups = boto3.client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    group = next((g for g in groups if g["logGroupName"] == name), None)
    compare(f"log retention of {folder} in days", group and group.get("retentionInDays"), days)
    return group["arn"].removesuffix(":*") if group else None  # the ARN ends with :* at AWS, but not in moto


def check_role(folder, role, tables, log_group):
    iam = boto3.client("iam")
    name = role.rsplit("/", 1)[-1]
    compare(f"managed policies of {folder}", iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"], [])
    granted = {}
    for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
        document = iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
        # moto stores the policy as Python prints it, with a None for AWS::NoValue.
        for statement in filter(None, ast.literal_eval(document)["Statement"]):
            compare(f"effect of a statement of {folder}", statement["Effect"], "Allow")
            writes_holds = folder in ("checkout", "checkout-variant", "release-checkout") and "dynamodb:UpdateItem" in statement["Action"] and \
                statement["Resource"].endswith(f"/{tables['VouchersTable']}")
            compare(f"condition of a statement of {folder}", statement.get("Condition"), ONLY_HOLDS if writes_holds else None)
            granted.setdefault(statement["Resource"], set()).update(statement["Action"])
    account = role.split(":")[4]
    want = {log_group: {"logs:CreateLogStream", "logs:PutLogEvents"}}
    for resource, actions in GRANTS[folder].items():
        output, slash, index = resource.partition("/")
        want[f"arn:aws:dynamodb:{REGION}:{account}:table/{tables[output]}{slash}{index}"] = {f"dynamodb:{action}" for action in actions}
        if actions is READING:
            want[next(arn for arn in granted if arn.startswith("arn:aws:sqs:"))] = {"sqs:SendMessage"}
    if folder == "publish-events":
        want[f"arn:aws:events:{REGION}:{account}:event-bus/shops"] = {"events:PutEvents"}
    compare(f"what {folder} may do", granted, want)


def check_operator(shopctl):
    """Checks that shopctl works on the tables of the stack."""
    target = (shopctl, "--stack", STACK)
    status = json.loads(run(*target, "status", "--json"))
    compare("address in shopctl status", status["baseUrl"], ENDPOINT)
    compare("version in shopctl status is the built one", status["version"] not in ("", "development"), True)
    run(*target, "catalog", "apply", "examples/demo.yaml")
    run(*target, "voucher", "create", "emberforge", "HARVEST-25", "--reward", "25%", "--max-uses", "250")
    check_voucher(shopctl)


def check_voucher(shopctl):
    voucher = json.loads(run(shopctl, "--stack", STACK, "voucher", "show", "emberforge", "HARVEST-25", "--json"))
    compare("uses left of a new code", voucher["usesLeft"], 250)


def check_refusals(sam):
    """Checks that infra/deployment.py refuses a deployment that would create empty tables beside existing ones."""
    cloudformation, dynamodb = boto3.client("cloudformation"), boto3.client("dynamodb")
    named = {"Parameters": {name: {"Type": "String"} for name in TABLES}, "Resources": {"T": {"Type": "AWS::SNS::Topic"}}}
    cloudformation.create_stack(
        StackName="shopfront-staging", TemplateBody=json.dumps(named),
        Parameters=[{"ParameterKey": name, "ParameterValue": f"present-{name}"} for name in TABLES])
    for name in (*(f"restored-{name}" for name in TABLES), "present-EventsTable", "unindexed", "other"):
        sort = "id" if name == "other" else "sk"
        index = {"IndexName": "orders", "Projection": {"ProjectionType": "ALL"},
                 "KeySchema": [{"AttributeName": "shelf", "KeyType": "HASH"}, {"AttributeName": "ordered", "KeyType": "RANGE"}]}
        indexed = {"GlobalSecondaryIndexes": [index]} if name.endswith("CheckoutsTable") else {}
        dynamodb.create_table(
            TableName=name, BillingMode="PAY_PER_REQUEST", **indexed,
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("customer", sort, *(["shelf", "ordered"] if indexed else []))],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE" if name == "unindexed" else "NEW_AND_OLD_IMAGES"},
            KeySchema=[{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}])
    streams = {name: dynamodb.describe_table(TableName=name)["Table"]["LatestStreamArn"] for name in ("restored-VouchersTable", "present-EventsTable", "unindexed")}
    for lines, want in (
        ([], None),
        (['VouchersTable: ""'], "VouchersTable: present-VouchersTable"),
        (["VouchersTable: absent"], "VouchersTable: absent cannot be used"),
        (["VouchersTable: other"], "VouchersTable: other cannot be used"),
        (["CheckoutsTable: unindexed"], "CheckoutsTable: unindexed cannot be used: it has no active index orders"),
        (["RefusalsTable: other"], "RefusalsTable: other cannot be used"),
        (["EventsTable: other"], "EventsTable: other cannot be used"),
        (['EventsTable: ""'], "EventsTable: present-EventsTable"),
        (['RefusalsTable: ""'], None),
        ([f"EventsStream: {streams['present-EventsTable']}"], None),
        ([f"EventsStream: {streams['restored-VouchersTable']}"], "cannot be used: the stream of present-EventsTable is"),
        ([f"EventsStream: {streams['restored-VouchersTable']}", "Events: off"], None),
        (["VouchersTable: unindexed", f"VouchersStream: {streams['unindexed']}"], "with NEW_IMAGE"),
        ([f"{name}: restored-{name}" for name in TABLES], None),
    ):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "infra", pathlib.Path(folder, "infra"))
            with pathlib.Path(folder, "infra", "parameters", "staging.yaml").open("a") as file:
                file.write("\n".join(["", *lines, ""]))
            command = (pathlib.Path(sam).parent / "python", pathlib.Path(folder, "infra", "deployment.py"), "check", "staging")
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if (done.returncode != 0) != (want is not None) or (want or "") not in done.stderr:
            differences.append(f"check with {lines}: status {done.returncode}, {done.stderr!r}; want {want!r}")


def main():
    sam, shopctl = sys.argv[1:]
    os.environ.update(AWS_ACCESS_KEY_ID="rehearsal", AWS_SECRET_ACCESS_KEY="rehearsal", AWS_REGION=REGION, AWS_DEFAULT_REGION=REGION, SAM_CLI_TELEMETRY="0")
    for name in list(os.environ):  # nothing may lead to the real AWS
        if name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") or name.startswith("AWS_ENDPOINT_URL"):
            del os.environ[name]
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="moto")  # about resource types that it does not create
    complete_simulation()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    os.environ["AWS_ENDPOINT_URL"] = f"http://{host}:{port}"
    try:
        boto3.client("s3").create_bucket(Bucket=BUCKET)
        first = deploy(sam)
        check_api()
        check_event_sources()
        check_tables(first)
        check_functions(first)
        compare("dashboards", len(boto3.client("cloudwatch").list_dashboards()["DashboardEntries"]), 1)
        check_operator(shopctl)
        ids = physical_ids()
        compare("outputs after an update", deploy(sam, RedeemVoucherConcurrency="5"), first)
        check_tables(first)
        check_functions(first)
        compare("resources after an update", physical_ids(), ids)
        check_voucher(shopctl)
        check_refusals(sam)
    finally:
        server.stop()
    if differences:
        sys.exit("\n".join(differences))
    print(f"Deployed and updated in a simulation: the tables with their streams, {len(GRANTS)} functions with their roles and logs, API and dashboard; shopctl works on them.")


if __name__ == "__main__":
    main()
