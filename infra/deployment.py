"""Guards a deployment. `make deploy` and `make build` run it.

    deployment.py preflight                              reports what is missing on this machine; needs no library
    deployment.py built DIRECTORY ARCHITECTURE VERSION   checks the built functions, and completes the built template
    deployment.py check ENVIRONMENT                      refuses a deployment that would create empty tables beside existing ones
    deployment.py protect ENVIRONMENT                    denies later updates that would replace or remove a table
    deployment.py unlock ENVIRONMENT                     lets the next deployment take a table out of the stack

All but preflight need the Python of the SAM CLI, which has boto3.
"""

import configparser
import importlib.util
import json
import os
import pathlib
import socket
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLES = ("CatalogueTable", "VouchersTable", "CheckoutsTable", "RefusalsTable", "EventsTable")
INDEXED, INDEX = "CheckoutsTable", "orders"
STREAMS = {"VouchersTable": "VouchersStream", "CheckoutsTable": "CheckoutsStream", "EventsTable": "EventsStream"}
POLICY = (ROOT / "infra" / "stack-policy.json").read_text()


def preflight():
    """Looks only at local settings and the metadata service, so it finishes within a second or so."""
    profile = profile_settings()
    missing = []
    if not (os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "region" in profile):
        missing.append("a region: set AWS_REGION or AWS_DEFAULT_REGION, or the region of your AWS profile")
    if not (set(os.environ) & CREDENTIAL_VARIABLES or set(profile) & CREDENTIAL_SETTINGS or on_ec2()):
        missing.append("credentials: run `aws configure` or `aws sso login`, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        missing.append("Python's venv module (Debian and Ubuntu: apt-get install python3-venv)")
    if missing:
        sys.exit("Nothing was deployed. Missing:\n" + "\n".join(f"  {item}" for item in missing))


CREDENTIAL_VARIABLES = {
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
}
CREDENTIAL_SETTINGS = {
    "aws_access_key_id",
    "credential_process",
    "login_session",
    "role_arn",
    "sso_session",
    "sso_start_url",
    "web_identity_token_file",
}


def profile_settings():
    """The settings of the current profile in both files of the AWS configuration."""
    name = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    settings = {}
    for variable, default in (("AWS_CONFIG_FILE", "~/.aws/config"), ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")):
        file = configparser.RawConfigParser(strict=False)
        file.read(os.path.expanduser(os.environ.get(variable) or default))
        for section in (name, f"profile {name}"):
            if file.has_section(section):
                settings.update(file.items(section))
    return settings


def on_ec2():
    """Whether EC2's metadata service responds. Instances get their credentials from it."""
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return False
    try:
        socket.create_connection(("169.254.169.254", 80), timeout=1).close()
    except OSError:
        return False
    return True


def built(directory, architecture, version):
    """Checks that the binaries have the architecture. Allows no other in the built template, and writes the version into it."""
    from samcli.yamlhelper import yaml_dump, yaml_parse

    machine = {"arm64": 183, "x86_64": 62}[architecture]
    for binary in pathlib.Path(directory).glob("*/bootstrap"):
        with binary.open("rb") as file:
            if struct.unpack_from("<H", file.read(20), 18) != (machine,):
                sys.exit(f"{binary} was not built for {architecture}")
    path = pathlib.Path(directory, "template.yaml")
    template = yaml_parse(path.read_text())
    template["Parameters"]["Architecture"].update(Default=architecture, AllowedValues=[architecture])
    template["Outputs"]["Version"]["Value"] = version
    path.write_text(yaml_dump(template))


def stack_name(environment):
    return f"shopfront-{environment}"


def describe(cloudformation, stack):
    """The stack, or None if it does not exist."""
    from botocore.exceptions import ClientError

    try:
        return cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise


def check(environment):
    import boto3
    from samcli.cli.types import CfnParameterOverridesType

    stack, file = stack_name(environment), f"infra/parameters/{environment}.yaml"
    wanted = CfnParameterOverridesType().convert((f"file://{ROOT / file}",), None, None)
    cloudformation = boto3.client("cloudformation")
    deployed = describe(cloudformation, stack) or {}
    before = {parameter["ParameterKey"]: parameter.get("ParameterValue", "") for parameter in deployed.get("Parameters", [])}
    lost = []
    for name in TABLES:
        table = wanted.get(name, before.get(name, ""))
        stream = wanted.get(STREAMS.get(name), before.get(STREAMS.get(name)))
        if table and (table != before.get(name) or stream):
            check_table(name, table, stream if wanted.get("Events", before.get("Events")) != "off" else "")
        if not table and before.get(name) and name != "RefusalsTable":  # an empty RefusalsTable loses nothing
            lost.append(f"  {name}: {before[name]}")
    if lost:
        sys.exit(f"{file} no longer names tables that {stack} uses. This deployment would create empty tables. Nothing was changed.\n"
                 f"Name the existing tables in {file}; docs/guides/restore.md has the details:\n" + "\n".join(lost))


def check_table(parameter, name, stream):
    """Refuses a table that does not exist, or that the functions could not use."""
    import boto3
    from botocore.exceptions import ClientError

    try:
        table = boto3.client("dynamodb").describe_table(TableName=name)["Table"]
    except ClientError as error:
        sys.exit(f"{parameter}: {name} cannot be used: {error}")
    keys = [(key["AttributeName"], key["KeyType"]) for key in table["KeySchema"]]
    if keys != [("customer", "HASH"), ("sk", "RANGE")] or table["TableStatus"] != "ACTIVE":
        sys.exit(f"{parameter}: {name} cannot be used: it is {table['TableStatus']}, and its key is {keys}")
    if parameter == INDEXED:
        check_index(name, table)
    current, images = table.get("LatestStreamArn"), table.get("StreamSpecification", {}).get("StreamViewType")
    if stream and (stream != current or images != "NEW_AND_OLD_IMAGES"):
        sys.exit(f"{STREAMS[parameter]}: {stream} cannot be used: the stream of {name} is {current}, with {images}. Nothing was changed.")


def check_index(name, table):
    for index in table.get("GlobalSecondaryIndexes", []):
        keys = [(key["AttributeName"], key["KeyType"]) for key in index["KeySchema"]]
        whole = index["Projection"]["ProjectionType"] == "ALL"
        if (index["IndexName"], index["IndexStatus"]) == (INDEX, "ACTIVE") and keys == [("shelf", "HASH"), ("ordered", "RANGE")] and whole:
            return
    sys.exit(f"{INDEXED}: {name} cannot be used: it has no active index {INDEX} as in template.yaml. Restore the table with its indexes. Nothing was changed.")


def protect(environment, policy=POLICY):
    import boto3

    cloudformation, stack = boto3.client("cloudformation"), stack_name(environment)
    if (describe(cloudformation, stack) or {}).get("StackStatus", "REVIEW_IN_PROGRESS") == "REVIEW_IN_PROGRESS":
        return  # the first deployment was declined
    cloudformation.set_stack_policy(StackName=stack, StackPolicyBody=policy)
    if environment == "prod":
        cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=True)


def unlock(environment):
    protect(environment, unlocked())


def unlocked():
    """The stack policy without the ban on removing tables. Replacing one stays denied: the shop would continue with an empty table."""
    policy = json.loads(POLICY)
    for statement in policy["Statement"]:
        if statement["Effect"] == "Deny":
            statement["Action"].remove("Update:Delete")
    return json.dumps(policy)


if __name__ == "__main__":
    commands = {"preflight": preflight, "built": built, "check": check, "protect": protect, "unlock": unlock}
    try:
        commands[sys.argv[1]](*sys.argv[2:])
    except Exception as error:
        if not type(error).__module__.startswith("botocore."):  # preflight must not import botocore
            raise
        outcome = "Nothing was deployed" if sys.argv[1] == "check" else "The stack policy was not set; run the command again"
        sys.exit(f"{outcome}. AWS: {error}")
