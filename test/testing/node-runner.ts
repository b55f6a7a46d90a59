import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startKit, type Kit } from "../../testing/index.ts";

let kit: Kit;
before(async () => {
  kit = await startKit({ at: "2026-06-15T12:00:00Z" });
});
after(() => kit?.stop());

test("a key without the scope is refused", async () => {
  const app = await kit.application();
  const { status, body } = await kit.call("readAccountEntitlements", {
    key: await app.issueKey(["customers:write"]),
    path: { applicationAccountIdentifier: "user-1" },
  });
  assert.deepEqual([status, body.error], [403, "INSUFFICIENT_SCOPE"]);
});
