import { sha256 } from "../../../lib/administration/import/slots.ts";
import { operate } from "./run-operator.ts";
import { createImportWorld, type ImportWorld } from "./world.ts";

let world: ImportWorld;
beforeEach(async () => {
  world = await createImportWorld({ count: 60, seed: 61 });
}, 120_000);
afterEach(async () => world.stop());

interface Report {
  readonly accounts: { readonly unanswered: number; readonly byCause: Readonly<Record<string, number>> };
  readonly problems: readonly { readonly problem: string; readonly firstRow: string }[];
}

const COLUMNS = [
  "account",
  "note",
  "store",
  "app",
  "environment",
  "transaction_id",
  "receipt",
  "purchase_token",
];

/** A row of a semicolon file. */
const row = (fields: Readonly<Record<string, string>>): string =>
  COLUMNS.map((column) => fields[column] ?? "").join(";");

const tokenOf = (wanted: (person: ImportWorld["persons"][number]) => boolean): string => {
  const found = world.persons.find((person) => person.android !== null && wanted(person));
  if (found?.android == null) throw new Error("No such person.");
  return found.android.purchaseToken;
};

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
        live: true,
      },
    ],
  });
};

const JWS = `${Buffer.from('{"alg":"ES256"}').toString("base64url")}.broken.signature`;

test("bad rows each have a cause, and the others are linked", async () => {
  await sellElsewhere();
  const isHonest = ({ lie }: { lie: string | null }): boolean => lie === null;
  const [good, unowned] = world.persons.filter((one) => one.android !== null && isHonest(one));
  const sandbox = world.persons.find(({ lie, ios }) => lie === "sandbox" && ios !== null);
  const twice = world.persons.find((one) => one.ios !== null && isHonest(one));
  const transactionOf = (person: typeof twice): string => person?.ios?.originalTransactionIdentifier ?? "";
  const android = { store: "android-store" };
  const ios = { store: "ios-store" };
  const path = world.write(
    "bad.csv",
    [
      `\ufeff${COLUMNS.join(";")}`,
      row({
        ...android,
        account: "good",
        note: '"two\nlines; ""quoted"""',
        purchase_token: good?.android?.purchaseToken ?? "",
      }),
      row({ ...android, purchase_token: unowned?.android?.purchaseToken ?? "" }),
      row({ ...android, account: "foreign", purchase_token: FOREIGN_TOKEN }),
      row({
        ...android,
        account: "forgotten",
        purchase_token: tokenOf(({ lie }) => lie === "forgotten-token"),
      }),
      row({ ...android, account: "dropped", purchase_token: tokenOf(({ lie }) => lie === "dropped-token") }),
      row({ ...ios, account: "other-bundle", transaction_id: FOREIGN_TRANSACTION }),
      row({ ...ios, account: "other-app", app: "com.example.other", transaction_id: "71" }),
      row({ ...ios, account: "receipt", receipt: "bm8gcmVjZWlwdA==" }),
      row({ ...ios, account: "jws", receipt: JWS }),
      row({ ...ios, account: "one", transaction_id: transactionOf(twice) }),
      row({ ...ios, account: "two", transaction_id: transactionOf(twice) }),
      row({ ...ios, account: "tester", environment: "sandbox", transaction_id: transactionOf(sandbox) }),
      "commas,,android-store,,,,,t1",
    ].join("\n"),
  );
  const ran = await world.run([path]);
  const report = ran.json() as Report;
  expect(ran.code).toBe(0);
  expect(report.problems).toEqual([
    { problem: "no-account", count: 1, firstRow: "bad.csv, row 2" },
    { problem: "bad-receipt", count: 2, firstRow: "bad.csv, row 8" },
    { problem: "unreadable", count: 1, firstRow: "bad.csv, row 13" },
  ]);
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
  expect(stored).toContain(sha256(good?.android?.purchaseToken ?? ""));
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
  const ran = await operate(words, untrusting, world.now);
  const { accounts } = ran.json() as Report;
  expect(ran.code).toBe(1);
  expect(accounts).toMatchObject({
    unanswered: rows.length,
    byCause: { unverified: rows.length, unanswered: 0 },
  });
  const added = (await world.items()).length - before.length;
  // The run's entry in the audit.
  expect(added).toBe(1);
  const again = await world.run([path]);
  expect(again.code).toBe(0);
  expect((await world.state()).map(({ account }) => account).sort()).toEqual(
    rows.map((_, index) => `a${index}`).sort(),
  );
}, 60_000);
