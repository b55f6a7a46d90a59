import { v7 as uuid } from "uuid";
import type { Application } from "../../../lib/applications/application.ts";
import type { StoreInEnvironment } from "../../../lib/customers/application-stores.ts";
import { DAY, MINUTE } from "../../../lib/duration.ts";
import type { Environment } from "../../../lib/contract/schemas.ts";
import { createNotificationLog, watchNotifications } from "../../../lib/customers/notifications.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { createNotificationTimes } from "../../../lib/table/queues/notifications.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { anApplication, directoryOf } from "../../../testing/support/application.ts";
import { aBundle } from "../../../testing/support/stores/ios-store.ts";

const table = await aUseCaseTable();

const aStore = (): StoreInEnvironment => ({
  application: applicationId(uuid()),
  store: "ios-store",
  environment: "production",
  bundleOrPackage: "com.example.trails",
});

const fails = (error: unknown): never => {
  throw error;
};

/** A function environment of its own. */
const anEnvironment = () => createNotificationLog(createNotificationTimes(table), fails);

const lastOf = async ({ application }: StoreInEnvironment) =>
  (await createNotificationTimes(table).ofApplication(application)).map(({ signedAt }) => signedAt);

/** The requests of an action, and what is stored after it. */
const noting = async (store: StoreInEnvironment, note: () => Promise<void>) => {
  table.sent.length = 0;
  await note();
  const requests = table.sent.length;
  return { requests, stored: await lastOf(store) };
};

describe("the last notification of a bundle or package", () => {
  test("is stored with one request, and then once in five minutes", async () => {
    const [store, note] = [aStore(), anEnvironment()];
    expect(await noting(store, () => note(store, NOW))).toEqual({ requests: 1, stored: [NOW] });
    for (const signedAt of [NOW, NOW - DAY, NOW + 5 * MINUTE - 1])
      expect(await noting(store, () => note(store, signedAt))).toEqual({ requests: 0, stored: [NOW] });
    const later = NOW + 5 * MINUTE;
    expect(await noting(store, () => note(store, later))).toEqual({ requests: 1, stored: [later] });
  });

  test("does no harm where the table fails, and is tried again", async () => {
    const failures: unknown[] = [];
    const error = new Error("the table is down");
    const tried: number[] = [];
    const raise = (_: StoreInEnvironment, signedAt: number) => {
      tried.push(signedAt);
      return tried.length === 1 ? Promise.reject(error) : Promise.resolve(signedAt);
    };
    const note = createNotificationLog({ raise }, (failure) => void failures.push(failure));
    const store = aStore();
    for (const _ of [1, 2, 3]) await note(store, NOW);
    expect([failures, tried]).toEqual([[error], [NOW, NOW]]);
  });
});

/** An application whose bundle accepts these environments; without any, it has no bundle. */
const accepting = (...environments: readonly Environment[]): Application =>
  anApplication({ iosStore: environments.length === 0 ? [] : [aBundle({ environments })] });

describe("silence", () => {
  const silentOf = async (silence: number, application: Application, isThere = true) => {
    const last = { ...aStore(), application: application.identifier, signedAt: NOW - silence };
    // Something else was heard of a moment ago.
    const all = () => Promise.resolve([{ ...last, environment: "sandbox" as const, signedAt: NOW }, last]);
    const directory = isThere ? directoryOf(application) : directoryOf();
    return (await watchNotifications({ times: { all }, directory, now: () => NOW })).length;
  };

  test.each([
    ["nothing", 0, 0],
    ["a millisecond less than a day", DAY - 1, 0],
    ["a day", DAY, 1],
    ["30 days", 30 * DAY, 1],
    ["longer, so that nobody expects any more", 30 * DAY + 1, 0],
  ])("of %s", async (_, silence, count) => {
    expect(await silentOf(silence, accepting("production", "sandbox"))).toBe(count);
  });

  test("of a removed bundle, the sandbox, or a missing application is none", async () => {
    expect(await silentOf(2 * DAY, accepting())).toBe(0);
    expect(await silentOf(2 * DAY, accepting("sandbox"))).toBe(0);
    expect(await silentOf(2 * DAY, accepting("production"), false)).toBe(0);
  });
});
