import { sha256 } from "../../../lib/administration/import/claim.ts";
import { operate } from "../run-operator.ts";
import { createImportWorld, type ImportReport, type ImportWorld } from "./world.ts";

let world: ImportWorld;
beforeEach(async () => {
  world = await createImportWorld({ count: 60, seed: 61 });
}, 120_000);
afterEach(async () => world.stop());

const tokenOf = (lie: string): string =>
  world.personWith((person) => person.android !== null && person.lie === lie).android?.purchaseToken ?? "";

const FOREIGN_TOKEN = "token-of-another-package";
const FOREIGN_TRANSACTION = "790000000000001";

/** Somebody buys in another app of the same stores. */
const sellElsewhere = async (): Promise<void> => {
  const app = "com.example.other";
  world.android.buy(
    { packageName: app, productKind: "subscription", productIdentifier: "premium" },
    FOREIGN_TOKEN,
  );
  await world.ios.buy({
    bundleIdentifier: app,
    environment: "production",
    transactions: [
      {
        productIdentifier: "premium",
        originalTransactionIdentifier: FOREIGN_TRANSACTION,
        transactionIdentifier: FOREIGN_TRANSACTION,
      },
    ],
  });
};

const JWS = `${Buffer.from('{"alg":"ES256"}').toString("base64url")}.broken.signature`;

test("bad rows each have a cause, and the others are linked", async () => {
  await sellElsewhere();
  const honest = world.persons.filter(({ lie }) => lie === null);
  const [good, unowned] = honest.flatMap(({ android }) => android?.purchaseToken ?? []);
  const twice = honest.find(({ ios }) => ios !== null)?.ios?.originalTransactionIdentifier;
  const sandbox = world.personWith(({ lie, ios }) => lie === "sandbox" && ios !== null);
  const path = world.write(
    "bad.csv",
    [
      "\ufeffaccount;note;store;app;environment;transaction_id;receipt;purchase_token",
      `good;"two\nlines; ""quoted""";android-store;;;;;${good}`,
      `;;android-store;;;;;${unowned}`,
      `foreign;;android-store;;;;;${FOREIGN_TOKEN}`,
      `forgotten;;android-store;;;;;${tokenOf("forgotten-token")}`,
      `dropped;;android-store;;;;;${tokenOf("dropped-token")}`,
      `other-bundle;;ios-store;;;${FOREIGN_TRANSACTION};;`,
      "other-app;;ios-store;com.example.other;;71;;",
      "receipt;;ios-store;;;;bm8gcmVjZWlwdA==;",
      `jws;;ios-store;;;;${JWS};`,
      `one;;ios-store;;;${twice};;`,
      `two;;ios-store;;;${twice};;`,
      `tester;;ios-store;;sandbox;${sandbox.ios?.originalTransactionIdentifier};;`,
      "commas,,android-store,,,,,t1",
    ].join("\n"),
  );
  const { code, report } = await world.run([path]);
  expect(code).toBe(0);
  expect(report.problems.map(({ problem }) => problem)).toEqual(["no-account", "bad-receipt", "unreadable"]);
  const causes = Object.entries(report.accounts.byCause).filter(([, accounts]) => accounts > 0);
  expect(Object.fromEntries(causes)).toEqual({
    "two-accounts": 2,
    "no-token": 2,
    dropped: 3,
    unknown: 1,
    unconfigured: 1,
  });
  const accounts = (await world.state()).map(({ account }) => account ?? "nobody");
  expect(accounts.sort()).toEqual(["good", "nobody", "nobody", "tester"]);
  const stored = JSON.stringify(await world.items());
  expect(stored).toContain(sha256(good ?? ""));
  expect(stored).not.toContain(sha256(FOREIGN_TOKEN));
  expect(stored).not.toContain(FOREIGN_TRANSACTION);
}, 60_000);

test("an answer that does not verify is named, and asked for again", async () => {
  const buyers = world.persons.filter(
    ({ lie, ios, state }) => lie === null && ios !== null && state === "active",
  );
  const rows = buyers.map(({ ios }, index) => `a${index},${ios?.originalTransactionIdentifier}`);
  const path = world.write("unverified.csv", ["account,original_transaction_id", ...rows].join("\n"));
  const words = ["import", "run", path, "--application", world.identifier, "--rate", "1000", "--json"];
  const untrusting = { ...world.environment, IOS_STORE_TRUSTED_ROOTS: "00".repeat(32) };
  const before = await world.items();
  const ran = await operate(words, { environment: untrusting, now: world.now });
  const { accounts } = ran.json<ImportReport>();
  expect(ran.code).toBe(1);
  expect(accounts).toMatchObject({
    unanswered: rows.length,
    byCause: { unverified: rows.length, unanswered: 0 },
  });
  // The run's entry in the audit.
  expect(await world.items()).toHaveLength(before.length + 1);
  expect(await world.run([path])).toMatchObject({ code: 0 });
  const linked = (await world.state()).map(({ account }) => account).sort();
  expect(linked).toEqual(rows.map((_, index) => `a${index}`).sort());
}, 60_000);
