# Points the operator's commands of this shell at a deployed stage. Source it, in bash or zsh:
#
#   . scripts/use-stage.sh <name>
#
# <name> is customer-entitlements, or customer-entitlements-<stage>. It sets TABLE_NAME and MASTER_SECRET, and unsets what
# points at a local run. A restore or a move changes the table, so source it again afterwards.
#
# Needs: the AWS CLI (aws), with a region and credentials that may describe the stack <name>-service.

unset AWS_ENDPOINT_URL_DYNAMODB AWS_ENDPOINT_URL_SECRETS_MANAGER AWS_ENDPOINT_URL_STS
unset ANDROID_PUBLISHER_URL DESTINATIONS TABLE_NAME MASTER_SECRET

if [ -z "${1:-}" ]; then
  echo "Usage: . scripts/use-stage.sh <name>, such as customer-entitlements" >&2
  false
elif TABLE_NAME=$(aws cloudformation describe-stacks --stack-name "$1-service" --output text \
  --query "Stacks[0].Outputs[?OutputKey=='TableName'].OutputValue") && [ -n "$TABLE_NAME" ]; then
  export TABLE_NAME MASTER_SECRET="$1-master"
  echo "Table $TABLE_NAME, master secret $MASTER_SECRET"
else
  unset TABLE_NAME
  echo "No table is set: the stack $1-service cannot be read." >&2
  false
fi
