import type { Answer } from "../../../testing/support/service.ts";
import { serviceForFile } from "../../support/service-for-file.ts";

const ACCOUNT = "user-1";
const READ = "/v1/customers/a/entitlements";

const { service, app, log } = serviceForFile();

test.each<[what: string, act: () => Promise<Answer>, grantsNothing: object, text: RegExp]>([
  [
    "a product of the iOS store",
    () => app.link(app.device().request({ productIdentifier: "unmapped" }), ACCOUNT),
    { store: "ios-store", productIdentifier: "unmapped", basePlanIdentifier: null },
    / 200 \d+ ms; ios-store unmapped grants nothing/,
  ],
  [
    "a base plan of the Android store",
    () => app.linkAndroid(app.buyOnAndroid({ basePlanIdentifier: "weekly" }), ACCOUNT),
    { store: "android-store", productIdentifier: "premium", basePlanIdentifier: "weekly" },
    / 200 \d+ ms; android-store premium, base plan weekly grants nothing: the catalog does not map it$/,
  ],
])("%s that the catalog does not map is named and counted", async (_, act, grantsNothing, text) => {
  const counted = () => log.measured("ungrantedProducts", { Reason: "unmapped" });
  const before = counted();
  const line = await log.lineOf(await act());
  expect(line).toMatchObject({ outcome: "OK", grantsNothing: [{ ...grantsNothing, because: "unmapped" }] });
  await log.requestWith(text);
  expect(counted()).toBe(before + 1);
});

// What an endpoint refuses: test/service/refusals.test.ts.
test.each<[what: string, act: () => Promise<Answer>, text: string]>([
  ["no key", () => service.send("GET", READ), "INVALID_CREDENTIAL: there is no header Authorization"],
  [
    "no key of its form",
    () => service.send("GET", READ, { headers: { authorization: "Basic x" } }),
    "INVALID_CREDENTIAL: the header Authorization is not Bearer and a whole API key",
  ],
  [
    "a missing scope",
    async () => {
      const { apiKey: key } = await app.issue(["entitlements:read"]);
      return service.send("POST", "/v1/customers/ios-store/link", { key, body: {} });
    },
    "INSUFFICIENT_SCOPE: .* The key has: entitlements:read.*",
  ],
  ["no route", () => service.send("GET", "/v1/nothing"), "ROUTE_NOT_FOUND: There is no such route."],
])("what the gateway refuses is one readable line, which says why: %s", async (_, act, text) => {
  const answer = await act();
  expect(await log.requestWith(new RegExp(`${text}$`))).toMatch(
    new RegExp(`^(?:GET|POST) /v1/\\S+ ${answer.status} \\d+ ms `),
  );
});
