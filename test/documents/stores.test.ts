import { readdirSync, readFileSync } from "node:fs";
import { NotificationTypeV2, Subtype } from "@apple/app-store-server-library";
import { readNotification } from "../../lib/stores/android-store/notification.ts";
import { SUBSCRIPTION_STATES } from "../../lib/stores/android-store/answers.ts";

const DOCUMENT = readFileSync("docs/stores.md", "utf8");
const APPLE = "node_modules/@apple/app-store-server-library/dist/models";
const GOOGLE = "node_modules/googleapis/build/src/apis/androidpublisher/v3.d.ts";

const withoutComments = (file: string): string => readFileSync(file, "utf8").replace(/\/\*[^]*?\*\//g, "");
const google = withoutComments(GOOGLE);
const modelsOfApple = new Set(readdirSync(APPLE));

/** The fields of a store's interface, each with its type; empty when the type is not an interface. */
const membersOf = (type: string): [name: string, type: string][] => {
  const file = `${type}.d.ts`;
  const source = modelsOfApple.has(file) ? withoutComments(`${APPLE}/${file}`) : google;
  const [, body = ""] = source.split(`export interface ${type} `);
  const [, members = ""] = /^[^{]*\{([^}]*)\}/.exec(body) ?? [];
  return [...members.matchAll(/^\s*(\w+)\??: (.+);$/gm)].map(([, name = "", of = ""]) => [name, of]);
};

/** The paths of all fields, nested ones included; an amount of money is one field. */
const pathsOf = (type: string): string[] =>
  membersOf(type).flatMap(([name, of]) => {
    const [nested = ""] = /^[A-Z][\w$]+/.exec(of) ?? [];
    const within = nested === "" || nested === "Schema$Money" ? [] : pathsOf(nested);
    return within.length === 0 ? [name] : within.map((path) => `${name}.${path}`);
  });

const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^\| (.*) \|$/gm)].map(([, row = ""]) => row.split(" | ").map((cell) => cell.trim()));

/** The first column's paths: `….a` is inside the last field without a dot, `.a` is a sibling of the previous one. */
const documentedPaths = (title: string): string[] => {
  const [, section = ""] = DOCUMENT.split(`\n## ${title}\n`);
  let [outer, before] = ["", ""];
  return rowsOf(section.split("\n## ")[0] ?? "")
    .flatMap(([field = ""]) => [...field.replaceAll("[]", "").matchAll(/`([^`]+)`/g)])
    .map(([, name = ""]) => {
      if (name.startsWith("…")) before = outer + name.slice(1);
      else if (name.startsWith(".")) before = before.slice(0, before.lastIndexOf(".")) + name;
      else before = name;
      if (!before.includes(".")) outer = before;
      return before;
    });
};

test.each([
  ["App Store: transaction", "JWSTransactionDecodedPayload"],
  ["App Store: renewal info", "JWSRenewalInfoDecodedPayload"],
  ["App Store: app transaction", "AppTransaction"],
  ["Google Play: subscription", "Schema$SubscriptionPurchaseV2"],
  ["Google Play: one-time purchase", "Schema$ProductPurchaseV2"],
])("%s: every field of %s has a row, nested ones included", (title, type) => {
  const paths = pathsOf(type);
  expect(paths.length).toBeGreaterThan(10);
  const documented = documentedPaths(title);
  expect(paths.filter((path) => !documented.includes(path))).toEqual([]);
});

test("every state of a subscription has a row", () => {
  const states = SUBSCRIPTION_STATES.map((state) => state.replace("SUBSCRIPTION_STATE_", ""));
  expect(documentedPaths("Google Play: subscription")).toEqual(expect.arrayContaining(states));
});

const NOTIFICATIONS = rowsOf(
  (DOCUMENT.split("\n## Google Play: Real-time Developer Notifications\n")[1] ?? "").split("\n## ")[0] ?? "",
)
  .map(([type = "", , service = ""]) => ({
    type: /^`([^`]+)`$/.exec(type)?.[1],
    asks: /^Asks\b/.test(service),
  }))
  .flatMap(({ type, asks }) => (type === undefined ? [] : [[type, asks] as const]));

/** The member of a notification whose type is written like this. */
const memberOf = (type: string): object => {
  const [word = "", number] = type.split(" ");
  const name =
    word === "unknown"
      ? "newNotification"
      : `${word.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}Notification`;
  return {
    [name]: { notificationType: Number(number), productType: Number(number), purchaseToken: "token" },
  };
};

test("every type of Google's notifications has a row", () => {
  const numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 18, 19, 20, 22];
  expect(NOTIFICATIONS.map(([type]) => type)).toEqual([
    ...numbers.map((number) => `subscription ${number}`),
    "one_time_product 1",
    "one_time_product 2",
    "voided_purchase 1",
    "voided_purchase 2",
    "pending_refund_review",
    "test",
    "unknown",
  ]);
});

test.each(NOTIFICATIONS)("%s is read, and the store is asked where the row says so", (type, asks) => {
  const data = Buffer.from(JSON.stringify({ packageName: "a.b", ...memberOf(type) })).toString("base64");
  const read = readNotification(data);
  expect(read?.type).toBe(type);
  expect(read?.purchase).toEqual(
    asks
      ? {
          purchaseToken: "token",
          productKind: /^(?:subscription|voided_purchase 1$)/.test(type)
            ? "subscription"
            : "one_time_product",
        }
      : null,
  );
});

test("every notification type and subtype of Apple's library has a row", () => {
  const [, section = ""] = DOCUMENT.split("\n## App Store Server Notifications\n");
  const cells = rowsOf(section.split("\n## ")[0] ?? "").map((row) => row.slice(0, 2));
  const wordsOf = (column: 0 | 1): string[] =>
    cells.flatMap((row) => [...(row[column] ?? "").matchAll(/`([A-Z_]+)`/g)].map(([, word = ""]) => word));
  expect(wordsOf(0)).toEqual(expect.arrayContaining(Object.values(NotificationTypeV2)));
  expect(wordsOf(1)).toEqual(expect.arrayContaining(Object.values(Subtype)));
});

const testCells = rowsOf(DOCUMENT).map((cells) => cells.at(-1) ?? "");

test("every row names a test or says why there is none", () => {
  const isAnswered = (cell: string): boolean => /"|^(?:Test|-+|tolerated|not read yet)$/.test(cell);
  expect(testCells.filter((cell) => !isAnswered(cell))).toEqual([]);
});

test("every test that a row names exists: its file, its title and its case", () => {
  const files = readdirSync("test", { recursive: true, encoding: "utf8" });
  const missing = testCells.flatMap((cell) => {
    let text = "";
    return [...cell.matchAll(/([a-z-]+) (?=")|"([^"]+)"/g)].flatMap(([, file, title]) => {
      if (title !== undefined) return text.includes(`"${title}"`) ? [] : [title];
      const [found, ...others] = files.filter((path) => path.endsWith(`/${file}.test.ts`));
      text = found === undefined || others.length > 0 ? "" : readFileSync(`test/${found}`, "utf8");
      return [];
    });
  });
  expect(missing).toEqual([]);
});
