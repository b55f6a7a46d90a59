import { fakeAwsForEachTest } from "./fake-aws.ts";

const aws = fakeAwsForEachTest(
  `"cloudformation describe-stacks") test "$4" = stage-service && echo its-table ;;`,
);

const OF_A_LOCAL_RUN = Object.fromEntries(
  [
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_SECRETS_MANAGER",
    "AWS_ENDPOINT_URL_STS",
    "ANDROID_PUBLISHER_URL",
    "DESTINATIONS",
    "TABLE_NAME",
    "MASTER_SECRET",
  ].map((name) => [name, "local"]),
);

const sourced = (words: string) =>
  aws.bash(
    `. scripts/use-stage.sh ${words}; echo "code $?"; env | grep -E 'AWS_E|ANDROID|DESTINATIONS|TABLE|SECRET' | sort`,
    OF_A_LOCAL_RUN,
  );

test("it names the stage's table and master secret, without a local run", async () => {
  const { out } = await sourced("stage");
  expect(out).toBe(
    "Table its-table, master secret stage-master\ncode 0\nMASTER_SECRET=stage-master\nTABLE_NAME=its-table\n",
  );
});

test.each(["stage", ""])("without a stack it names no table: %j", async (words) => {
  await aws.answerBy(`"cloudformation describe-stacks") exit 254 ;;`);
  expect((await sourced(words)).out).toBe("code 1\n");
});
