#!/usr/bin/env bash
# Stops functions of a deployed stage, or starts them again.
#
#   scripts/functions.sh stop|start writers|all <name>
#
# writers  the functions that may change the table; reads go on
# all      every function
# <name>   customer-entitlements, or customer-entitlements-<stage>
#
# `start` gives each function the concurrency that the stack gives it. After an interruption, run it again.
#
# Needs: the AWS CLI (aws), with a region and credentials that may describe the stack <name>-service, read its template,
# and change the concurrency of its functions.
set -euo pipefail

usage() {
  sed -n '4,8s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
[ $# -eq 3 ] || usage
act=$1
which=$2
stack=$3-service

case $act in
  stop | start) ;;
  *) usage ;;
esac

# Logical identifier and name of each function.
functions=$(aws cloudformation list-stack-resources --stack-name "$stack" --output text \
  --query "StackResourceSummaries[?ResourceType=='AWS::Lambda::Function'].[LogicalResourceId,PhysicalResourceId]")
case $which in
  all) chosen=$functions ;;
  writers) chosen=$(aws cloudformation describe-stacks --stack-name "$stack" --output text \
    --query "Stacks[0].Outputs[?OutputKey=='Writers'].OutputValue") ;;
  *) usage ;;
esac
[ -n "$chosen" ] || {
  echo "The stack $stack names no functions." >&2
  exit 1
}

# Logical identifier and number, for each function with provisioned concurrency.
provisioned=$(aws cloudformation get-template --stack-name "$stack" --output text --query "values(TemplateBody.Resources)
  [?Type=='AWS::Lambda::Alias' && Properties.ProvisionedConcurrencyConfig].[Properties.FunctionName.Ref,
  Properties.ProvisionedConcurrencyConfig.ProvisionedConcurrentExecutions]")
provisioned_for() {
  local id number
  while read -r id number; do
    [ "$id" != "$1" ] || echo "$number"
  done <<< "$provisioned"
}

# A number, or None.
reserved_for() {
  aws cloudformation get-template --stack-name "$stack" --output text \
    --query "TemplateBody.Resources.$1.Properties.ReservedConcurrentExecutions"
}

limit() {
  aws lambda put-function-concurrency --function-name "$1" --reserved-concurrent-executions "$2" > /dev/null
}

stop() {
  # Lambda refuses to stop a function while environments of it are provisioned.
  [ -z "$(provisioned_for "$1")" ] ||
    aws lambda delete-provisioned-concurrency-config --function-name "$2" --qualifier ready
  limit "$2" 0
}

start() {
  local reserved number
  reserved=$(reserved_for "$1")
  number=$(provisioned_for "$1")
  if [ "$reserved" = None ]; then
    aws lambda delete-function-concurrency --function-name "$2"
  else
    limit "$2" "$reserved"
  fi
  [ -z "$number" ] || aws lambda put-provisioned-concurrency-config --function-name "$2" --qualifier ready \
    --provisioned-concurrent-executions "$number" > /dev/null
}

while read -r id name; do
  [[ " ${chosen//[$'\t\n']/ } " == *" $id "* ]] || continue
  "$act" "$id" "$name" < /dev/null
  echo "$act $id"
done <<< "$functions"
