#!/usr/bin/env bash
# Restores a stage's table into a new table, and gives that the settings that a restore leaves out. The live table stays
# as it is, and the service uses it until a deployment names the new one.
#
#   scripts/restore-table.sh <name> <new table> <moment>
#
# <name>       customer-entitlements, or customer-entitlements-<stage>
# <new table>  a name that no table has; one that an interrupted run made is completed
# <moment>     a time of the last 35 days such as 2026-11-21T02:09:00Z; `latest`; the ARN of a backup; or `settings`, for a
#              table that is there already, such as an imported one: it only gets the settings
#
# Variables:
#   FROM_REGION   region of the live table, where it is another one than the new table's
#   SOURCE_TABLE  the live table; by default what the stack <name>-service names
#   MAX_READ      the stage's maxReadCapacity, 4000 by default; `none` for no limit
#   MAX_WRITE     the same for maxWriteCapacity
#   TABLE_KEY     the stage's tableKeyArn, where it has one
#
# Needs: the AWS CLI (aws), with a region and credentials that may restore and change the table. A restore takes minutes to
# hours; the credentials should last as long, or run it again with new ones.
set -euo pipefail

[ $# -eq 3 ] || {
  sed -n '5,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
name=$1
table=$2
moment=$3
max_read=${MAX_READ:-4000}
max_write=${MAX_WRITE:-4000}
pause=${PAUSE_SECONDS:-60}

described() {
  aws dynamodb describe-table --table-name "$table" --output text --query "Table.$1"
}

# The AWS CLI waits eight minutes at a time.
wait_for_table() {
  local try
  for try in $(seq 60); do
    aws dynamodb wait table-exists --table-name "$table" && return
    aws sts get-caller-identity > /dev/null || return
    echo "  still waiting ($try)"
  done
  return 1
}

# A setting is refused while the table applies another one.
set_up() {
  local try
  for try in 1 2 3 4 5; do
    "$@" > /dev/null && return
    echo "  refused; trying again ($try)"
    sleep "$pause"
  done
  return 1
}

source_of_restore() {
  local live=${SOURCE_TABLE:-} region=()
  [ -z "${FROM_REGION:-}" ] || region=(--region "$FROM_REGION")
  [ -n "$live" ] || live=$(aws cloudformation describe-stacks ${region[@]+"${region[@]}"} --stack-name "$name-service" \
    --output text --query "Stacks[0].Outputs[?OutputKey=='TableName'].OutputValue")
  aws dynamodb describe-table ${region[@]+"${region[@]}"} --table-name "$live" --output text --query Table.TableArn
}

restore() {
  local options=(--target-table-name "$table") live
  [ -z "${TABLE_KEY:-}" ] ||
    options+=(--sse-specification-override "Enabled=true,SSEType=KMS,KMSMasterKeyId=$TABLE_KEY")
  case $moment in
    arn:*)
      aws dynamodb restore-table-from-backup --backup-arn "$moment" "${options[@]}" > /dev/null
      return
      ;;
    latest) options+=(--use-latest-restorable-time) ;;
    *) options+=(--restore-date-time "$moment") ;;
  esac
  live=$(source_of_restore)
  aws dynamodb restore-table-to-point-in-time --source-table-arn "$live" "${options[@]}" > /dev/null
}

if [ "$moment" = settings ]; then
  echo "$table gets its settings"
elif restored=$(aws dynamodb describe-table --table-name "$table" --output text \
  --query "Table.RestoreSummary.[SourceTableArn, RestoreDateTime]" 2> /dev/null); then
  case $restored in
    None)
      echo "There is a table $table that no restore has made: choose another name." >&2
      exit 1
      ;;
    *) echo "$table was restored before, from and as of $restored: only its settings are completed" ;;
  esac
else
  echo "Restoring into $table"
  restore
fi
wait_for_table

echo "Time to live"
case $(aws dynamodb describe-time-to-live --table-name "$table" --output text \
  --query TimeToLiveDescription.TimeToLiveStatus) in
  ENABLED | ENABLING) ;;
  *) set_up aws dynamodb update-time-to-live --table-name "$table" \
    --time-to-live-specification Enabled=true,AttributeName=timeToLive ;;
esac
echo "Point-in-time recovery"
set_up aws dynamodb update-continuous-backups --table-name "$table" \
  --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true

echo "Deletion protection"
if [ "$(described DeletionProtectionEnabled)" != True ]; then
  set_up aws dynamodb update-table --table-name "$table" --deletion-protection-enabled
  wait_for_table
fi

# The index `owner` may take a tenth of the read units and half of the write units, rounded up.
limits=() of_index=()
if [ "$max_read" != none ]; then
  limits+=("MaxReadRequestUnits=$max_read")
  of_index+=("\"MaxReadRequestUnits\": $(((max_read + 9) / 10))")
fi
if [ "$max_write" != none ]; then
  limits+=("MaxWriteRequestUnits=$max_write")
  of_index+=("\"MaxWriteRequestUnits\": $(((max_write + 1) / 2))")
fi
if [ ${#limits[@]} -gt 0 ]; then
  joined=$(IFS=,; echo "${limits[*]}")
  if [ "$(described OnDemandThroughput.MaxReadRequestUnits),$(described OnDemandThroughput.MaxWriteRequestUnits)" != \
    "${max_read/none/None},${max_write/none/None}" ]; then
    echo "Limits of capacity"
    set_up aws dynamodb update-table --table-name "$table" --on-demand-throughput "$joined" \
      --global-secondary-index-updates \
      "[{ \"Update\": { \"IndexName\": \"owner\", \"OnDemandThroughput\": { $(IFS=,; echo "${of_index[*]}") } } }]"
    wait_for_table
  fi
fi
echo "The table $table is ready. Write \"tableName\": \"$table\" for the stage into stages.json when it is to be used."
