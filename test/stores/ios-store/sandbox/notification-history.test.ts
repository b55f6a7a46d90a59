import {
  APIError,
  type NotificationHistoryRequest,
  type ResponseBodyV2DecodedPayload,
} from "@apple/app-store-server-library";
import { decodeJwt } from "jose";
import { HOUR } from "../../../../lib/duration.ts";
import { BUNDLE } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { failure, nameOf, refusal, storeForEachTest } from "./store-under-test.ts";

const PRODUCTION = { environment: "production" } as const;
const FAILED = "UNSUCCESSFUL_HTTP_RESPONSE_CODE";

const under = storeForEachTest();
const { buy } = under;

const history = async (
  request: Partial<NotificationHistoryRequest> = {},
  page: string | null = null,
  bundleIdentifier = BUNDLE,
) => {
  const whole = { startDate: under.now - 100 * DAY, endDate: under.now + 100 * DAY, ...request };
  const { notificationHistory = [], ...answered } = await under
    .clientOf(bundleIdentifier)
    .getNotificationHistory(page, whole);
  const payloads = notificationHistory.map(({ signedPayload = "" }) => signedPayload);
  const attempts = notificationHistory.map(({ sendAttempts }) => sendAttempts);
  const names = payloads.map((jws) => nameOf(decodeJwt<ResponseBodyV2DecodedPayload>(jws)));
  return { ...answered, payloads, attempts, names };
};

describe("the history of notifications", () => {
  test("has each try of each notification, with its time and result", async () => {
    under.answers = 503;
    await buy({ type: "Non-Consumable" }, PRODUCTION);
    await under.moveTo(NOW + 2 * HOUR);
    under.answers = 200;
    await under.moveTo(NOW + DAY);
    const { payloads, attempts, hasMore } = await history();
    expect([payloads, hasMore]).toEqual([[under.received[0]?.signedPayload], false]);
    expect(attempts).toEqual([
      [
        { attemptDate: NOW, sendAttemptResult: FAILED },
        { attemptDate: NOW + HOUR, sendAttemptResult: FAILED },
        { attemptDate: NOW + 13 * HOUR, sendAttemptResult: "SUCCESS" },
      ],
    ]);
  });

  test("has only failures on request: given up, or still tried", async () => {
    under.answers = 500;
    const recovered = await buy({ type: "Non-Consumable" }, PRODUCTION);
    await buy();
    under.answers = 200;
    await under.moveTo(NOW + 2 * HOUR);
    under.answers = 404;
    await under.store.change(recovered, { change: "refund" });
    expect((await history({ onlyFailures: true })).names).toEqual(["SUBSCRIBED INITIAL_BUY", "REFUND"]);
    expect((await history({ onlyFailures: false })).names).toHaveLength(3);
  });

  test("is the app's own, whatever the notifications are about", async () => {
    const bundleIdentifier = "com.example.other";
    await under.change(await buy(), { change: "rescind-consent" });
    await under.store.buy({ bundleIdentifier, transactions: [{ productIdentifier: "p" }] });
    expect((await history()).names).toEqual(["SUBSCRIBED INITIAL_BUY", "RESCIND_CONSENT"]);
    expect((await history({}, null, bundleIdentifier)).payloads).toHaveLength(1);
  });

  test("spans a time by the first try, its end excluded", async () => {
    for (const at of [NOW, NOW + HOUR, NOW + 2 * HOUR]) {
      under.now = at;
      await buy();
    }
    under.now = NOW + DAY;
    const { attempts } = await history({ startDate: NOW + HOUR, endDate: NOW + 2 * HOUR });
    expect(attempts).toMatchObject([[{ attemptDate: NOW + HOUR }]]);
  });

  test("comes in pages of twenty, oldest first", async () => {
    for (let sent = 0; sent < 41; sent++) await buy();
    const first = await history();
    const second = await history({}, first.paginationToken);
    const third = await history({}, second.paginationToken);
    const pages = [first, second, third];
    expect(pages.map(({ payloads, hasMore }) => [payloads.length, hasMore])).toEqual([
      [20, true],
      [20, true],
      [1, false],
    ]);
    expect(pages.flatMap(({ payloads }) => payloads)).toEqual(
      under.received.map(({ signedPayload }) => signedPayload),
    );
  });

  test("says that a listener did not answer", async () => {
    under.url = "http://127.0.0.1:1/";
    await buy();
    expect((await history()).attempts).toMatchObject([[{ sendAttemptResult: "NO_RESPONSE" }]]);
  });

  test("a page's token is for the same request", async () => {
    for (let sent = 0; sent < 21; sent++) await buy();
    const { paginationToken = "" } = await history();
    const invalid = failure(APIError.INVALID_PAGINATION_TOKEN);
    await expect(history({ onlyFailures: true }, paginationToken)).rejects.toMatchObject(invalid);
    await expect(history({}, "abc")).rejects.toMatchObject(invalid);
    under.store.reset();
    await expect(history({}, paginationToken)).rejects.toMatchObject(invalid);
  });

  const TIMES = { startDate: NOW - DAY, endDate: NOW };
  test.each([
    [{ endDate: NOW }, APIError.GENERAL_BAD_REQUEST],
    [{ startDate: NOW, endDate: NOW }, APIError.START_DATE_AFTER_END_DATE],
    [{ startDate: NOW - 180 * DAY - 1, endDate: NOW }, APIError.START_DATE_TOO_FAR_IN_PAST],
    [{ ...TIMES, notificationType: "TEST" }, APIError.GENERAL_BAD_REQUEST],
  ])("%j is refused", async (body, errorCode) => {
    expect(await under.request("POST", "/inApps/v1/notifications/history", body)).toEqual(refusal(errorCode));
  });
});
