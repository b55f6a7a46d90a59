import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { isAtHand } from "../../../local/database/database.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

test.each([
  ["http://127.0.0.1:8000", true],
  ["http://[::1]:8000", true],
  ["http://localhost:8000", true],
  ["http://dynamodb:8000", true],
  ["https://dynamodb.us-east-1.amazonaws.com", false],
  ["http://[2001:db8::1]:8000", false],
  ["http://198.51.100.7:8000", false],
])("a database at %s is at hand, and a reset may empty it: %s", (endpoint, expected) => {
  expect(isAtHand(endpoint)).toBe(expected);
});

const MODULE = new URL("../../../local/database/dynamodb-local.ts", import.meta.url).href;

/** A Docker that notes its words, and whose containers end at once. */
const FAKE_DOCKER = `#!/bin/sh
echo "$@" >> "$(dirname "$0")/words"
`;

const bin = temporaryFolder();
writeFileSync(join(bin, "docker"), FAKE_DOCKER, { mode: 0o755 });
writeFileSync(join(bin, "java"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });

test.each([null, "/somewhere"])(
  "in Docker, the database of the folder %j is published on loopback alone",
  async (folder) => {
    const start = `import { startDynamoDbLocal } from ${JSON.stringify(MODULE)};
      await startDynamoDbLocal(${JSON.stringify({ port: 8123, folder })}).catch(({ message }) => console.log(message));`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", start], {
      env: { ...process.env, PATH: [bin, process.env["PATH"]].join(delimiter) },
    });
    expect(stdout).toContain("ended before it was ready");
    const words = readFileSync(join(bin, "words"), "utf8").split("\n");
    const run = words.findLast((line) => line.startsWith("run ")) ?? "";
    expect(/--publish (\S+)/.exec(run)?.[1]).toBe("127.0.0.1:8123:8000");
    expect(run).toContain(folder === null ? "-inMemory" : "-dbPath /home/dynamodblocal/db");
    expect(run).toContain("-sharedDb");
  },
  60_000,
);
