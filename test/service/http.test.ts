import * as z from "zod/mini";
import { customerEntitlement, type CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { fingerprintOf, makeXcodeSigner } from "../../sandbox/ios-store/signing.ts";
import type { Answer, TestApplication } from "../../testing/support/service.ts";
import { serviceForFile } from "../support/service-for-file.ts";

const DAY = 86_400_000;

const { service, app: other } = serviceForFile();

const outcome = ({ status, body }: Answer): [number, string | undefined] => [status, body.error];
const statuses = ({ body }: Answer): [string, CustomerEntitlement["status"]][] =>
  (body.entitlements ?? []).map(({ identifier, status }) => [identifier, status]);
const tableText = async (): Promise<string> => JSON.stringify(await service.table.items());
const isAcknowledged = (token: string): boolean =>
  service.android.read(token)?.answer.acknowledgementState === "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED";

describe("the main job", () => {
  test("an iOS purchase is synchronized, linked and read", async () => {
    const app = await service.application();
    const request = app.device().request({ productIdentifier: "monthly" });
    const synchronized = await app.synchronize(request);
    expect(Object.keys(synchronized.body).sort()).toEqual(["customerIdentifier", "entitlements"]);
    expect(statuses(synchronized)).toEqual([["premium", "active"]]);
    const linked = await app.link(request, "user-1");
    expect(linked.body).toEqual({ ...synchronized.body, applicationIdentifier: app.identifier });
    const read = await app.read("user-1");
    expect([synchronized, linked, read].map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(read.body).toEqual({
      applicationAccountIdentifier: "user-1",
      customerIdentifiers: [synchronized.body.customerIdentifier],
      applicationIdentifier: app.identifier,
      entitlements: synchronized.body.entitlements,
    });
    const [entitlement] = read.body.entitlements ?? [];
    expect(z.strictObject(customerEntitlement().shape).safeParse(entitlement).error).toBeUndefined();
    const before = await tableText();
    expect((await app.link(request, "user-1")).body).toEqual(linked.body);
    expect(await tableText()).toBe(before);
  });

  test("an Android purchase is linked, acknowledged and read", async () => {
    const app = await service.application();
    const token = app.buyOnAndroid();
    const linked = await app.linkAndroid(token, "user-1");
    expect(linked.body).toMatchObject({
      applicationIdentifier: app.identifier,
      entitlements: [{ identifier: "premium", store: "android-store", status: "active", willRenew: true }],
    });
    expect(isAcknowledged(token)).toBe(true);
    expect((await app.read("user-1")).body.entitlements).toEqual(linked.body.entitlements);
    const items = (await service.table.items()).map((item) => JSON.stringify(item));
    const holders = items.filter((item) => item.includes(token));
    expect(holders).toEqual([expect.stringContaining("#ASK#android-store")]);
  });

  test("an account shows its customers of both stores and the better grant", async () => {
    const app = await service.application();
    const ios = await app.link(app.device().request({ expiresDate: Date.now() + 90 * DAY }), "user-1");
    const android = await app.linkAndroid(app.buyOnAndroid(), "user-1");
    const customers = [ios, android].map(({ body }) => body.customerIdentifier);
    expect((await app.read("user-1")).body).toMatchObject({
      customerIdentifiers: customers.sort(),
      entitlements: [{ store: "ios-store", customerIdentifier: ios.body.customerIdentifier }],
    });
  });

  test.each(["a/b", "100%", "a b", "😀", "#1", "android-store", "a%2Fb", "ü+=&?;:@", "😀".repeat(256)])(
    "the account %j is linked and read unchanged",
    async (account) => {
      const linked = await other.link(other.device().request({}), account);
      expect((await other.read(account)).body).toMatchObject({
        applicationAccountIdentifier: account,
        customerIdentifiers: [linked.body.customerIdentifier],
      });
    },
  );

  test("a purchase that the store has dropped is answered from stored facts", async () => {
    const app = await service.application();
    const token = app.buyOnAndroid();
    const first = await app.linkAndroid(token, "user-1");
    service.android.drop(token);
    expect((await app.linkAndroid(token, "user-1")).body).toEqual(first.body);
    expect(outcome(await app.linkAndroid(token, "user-2"))).toEqual([409, "CUSTOMER_ALREADY_LINKED"]);
    const otherKind = { productKind: "one_time_product" };
    expect(outcome(await app.linkAndroid(token, "user-1", otherKind))).toEqual([400, "INVALID_PURCHASE"]);
  });

  test("an app sold under an Xcode certificate needs that certificate registered", async () => {
    const xcode = makeXcodeSigner();
    const registered = await service.application({
      iosStore: { environments: ["sandbox"], xcodeCertificates: [fingerprintOf(xcode.certificate)] },
    });
    const requestOf = (app: TestApplication) => {
      const inXcode = { environment: "Xcode", appAppleIdentifier: 0, appTransactionIdentifier: "0" } as const;
      return app.device(inXcode, xcode).request({ transactionIdentifier: "0" });
    };
    const { body } = await registered.synchronize(requestOf(registered));
    expect(body.entitlements).toMatchObject([{ environment: "xcode", status: "active" }]);
    const refused = await other.synchronize(requestOf(other));
    expect(outcome(refused)).toEqual([400, "INVALID_APP_TRANSACTION"]);
  });
});
