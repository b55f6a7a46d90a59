import { readParameters } from "../../infra/read-parameters.ts";
import { TABLE } from "../../lib/table/keys.ts";
import { fakeAwsForEachTest, type Ended } from "./fake-aws.ts";

/**
 * DynamoDB with a live table and a table that no restore has made. `$FOLDER/new` exists once the new table does, and the
 * other files once it has the setting of their name.
 */
const DYNAMODB = `
"cloudformation describe-stacks") echo live ;;
"sts get-caller-identity") echo me ;;
"dynamodb wait") ;;
"dynamodb describe-table") case "$*" in
  *live*) echo arn:aws:dynamodb:eu-central-1:123456789012:table/live ;;
  *stranger*RestoreSummary*) echo None ;;
  *RestoreSummary*) test -e $FOLDER/new && echo "live	2026-11-21" ;;
  *DeletionProtection*) test -e $FOLDER/protection && echo True || echo False ;;
  *Max*) test -e $FOLDER/limits && echo 4000 || echo None ;;
esac ;;
"dynamodb restore-table-to-point-in-time" | "dynamodb restore-table-from-backup") touch $FOLDER/new ;;
"dynamodb describe-time-to-live") test -e $FOLDER/ttl && echo ENABLED || echo DISABLED ;;
"dynamodb update-time-to-live")
  test -e $FOLDER/asked || { touch $FOLDER/asked; echo "ResourceInUseException" >&2; exit 254; }
  touch $FOLDER/ttl ;;
"dynamodb update-continuous-backups") ;;
"dynamodb update-table") case "$*" in *protection*) touch $FOLDER/protection ;; *) touch $FOLDER/limits ;; esac ;;`;

const aws = fakeAwsForEachTest(DYNAMODB);

const restored = (words: string, variables: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  aws.bash(`scripts/restore-table.sh ${words}`, { PAUSE_SECONDS: "0", ...variables });

const changes = async (): Promise<readonly string[]> =>
  (await aws.calls()).filter((call) => /^dynamodb (?:restore|update)/.test(call));

const FROM_LIVE =
  "dynamodb restore-table-to-point-in-time --source-table-arn arn:aws:dynamodb:eu-central-1:123456789012:table/live";
const TIME_TO_LIVE = `dynamodb update-time-to-live --table-name new --time-to-live-specification Enabled=true,AttributeName=${TABLE.timeToLiveAttribute}`;
const RECOVERY =
  "dynamodb update-continuous-backups --table-name new --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true";
const PROTECTION = "dynamodb update-table --table-name new --deletion-protection-enabled";

test("the new table gets every setting, also after a first refusal", async () => {
  const { maxReadCapacity, maxWriteCapacity } = readParameters({});
  expect(await restored("stage new 2026-11-21T02:09:00Z")).toMatchObject({ code: 0 });
  expect(await changes()).toEqual([
    `${FROM_LIVE} --target-table-name new --restore-date-time 2026-11-21T02:09:00Z`,
    TIME_TO_LIVE,
    TIME_TO_LIVE,
    RECOVERY,
    PROTECTION,
    `dynamodb update-table --table-name new --on-demand-throughput MaxReadRequestUnits=${maxReadCapacity},MaxWriteRequestUnits=${maxWriteCapacity} --global-secondary-index-updates [{ "Update": { "IndexName": "${TABLE.ownerIndex}", "OnDemandThroughput": { "MaxReadRequestUnits": 400,"MaxWriteRequestUnits": 2000 } } }]`,
  ]);
});

test("a second run restores nothing, and sets what is missing", async () => {
  await restored("stage new 2026-11-21T02:09:00Z");
  const before = (await changes()).length;
  const { code, out } = await restored("stage new 2026-11-21T02:09:00Z");
  expect([code, out]).toEqual([0, expect.stringContaining("new was restored before")]);
  expect((await changes()).slice(before)).toEqual([RECOVERY]);
});

test("a table that no restore has made is left alone", async () => {
  const { code, err } = await restored("stage stranger latest");
  const refused = "There is a table stranger that no restore has made: choose another name.\n";
  expect([code, err]).toEqual([1, refused]);
  expect(await changes()).toEqual([]);
});

test("an imported table gets the settings alone", async () => {
  await restored("stage new settings", { MAX_READ: "none", MAX_WRITE: "none" });
  expect(await changes()).toEqual([TIME_TO_LIVE, TIME_TO_LIVE, RECOVERY, PROTECTION]);
});

test("the live table may be in another region; `latest` is its newest", async () => {
  await restored("stage new latest", { FROM_REGION: "eu-west-1", MAX_READ: "15", MAX_WRITE: "none" });
  const calls = await aws.calls();
  expect(calls).toContain("cloudformation describe-stacks --region eu-west-1 --stack-name stage-service");
  expect(calls).toContain("dynamodb describe-table --region eu-west-1 --table-name live");
  const done = await changes();
  expect(done[0]).toBe(`${FROM_LIVE} --target-table-name new --use-latest-restorable-time`);
  expect(done.at(-1)).toBe(
    `dynamodb update-table --table-name new --on-demand-throughput MaxReadRequestUnits=15 --global-secondary-index-updates [{ "Update": { "IndexName": "owner", "OnDemandThroughput": { "MaxReadRequestUnits": 2 } } }]`,
  );
});

test("a backup needs no live table, and may have its own key", async () => {
  const backup = "arn:aws:dynamodb:eu-central-1:123456789012:table/live/backup/01";
  const key = "arn:aws:kms:eu-central-1:123456789012:key/1";
  await restored(`stage new ${backup}`, { TABLE_KEY: key, MAX_READ: "none", MAX_WRITE: "none" });
  expect(await changes()).toEqual([
    `dynamodb restore-table-from-backup --backup-arn ${backup} --target-table-name new --sse-specification-override Enabled=true,SSEType=KMS,KMSMasterKeyId=${key}`,
    TIME_TO_LIVE,
    TIME_TO_LIVE,
    RECOVERY,
    PROTECTION,
  ]);
});

test("the wait for the table ends with the credentials", async () => {
  const expired = DYNAMODB.replace("echo me ;;", "exit 254 ;;");
  await aws.answerBy(expired.replace(`"dynamodb wait") ;;`, `"dynamodb wait") exit 255 ;;`));
  expect((await restored("stage new latest")).code).toBe(254);
  const last = (await aws.calls()).slice(-2).map((call) => call.split(" ")[1]);
  expect(last).toEqual(["wait", "get-caller-identity"]);
});

test.each(["", "stage", "stage new"])("anything else shows how: %j", async (words) => {
  const { code, err } = await restored(words);
  const usage = "scripts/restore-table.sh <name> <new table> <moment>";
  expect([code, err]).toEqual([2, expect.stringContaining(usage)]);
});
