import * as z from "zod/mini";
import { accountEntitlements } from "../../../lib/contract/schemas.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { originOf } from "../../../lib/stores/android-store/workload-identity.ts";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { manifestFrom, saveApplication } from "../../../testing/application.ts";
import { PRODUCTS } from "../../../testing/support/service.ts";
import {
  aSubscriptionAnswer,
  aSubscriptionLine,
  startAndroidStore,
  AUDIENCE,
  makePushKey,
  SERVICE_ACCOUNT,
  startKeyServer,
} from "../../../testing/support/stores/android-store.ts";
import { APPLE_ID } from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { createTestTable } from "../../../testing/support/table/table.ts";
import { startFaultProxy } from "../fault-proxy.ts";
import { canonical } from "../model/comparison.ts";
import { ACCOUNT, chain, NAME, TOKEN, type Scenario } from "./scenarios.ts";
import { openService, type ServiceOptions } from "./use-cases.ts";

const APPLICATION = applicationId("0198c0de-0000-7000-8000-000000000001");
/** Time of the calls before a scenario's. */
const EARLIER = NOW - 500;

const answerUntil = (end: number) =>
  aSubscriptionAnswer({
    startTime: isoTime(NOW - DAY),
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
    lineItems: [aSubscriptionLine({ expiryTime: isoTime(end) })],
  });

/** An unacknowledged subscription. */
export const PENDING_ANSWER = answerUntil(NOW + 20 * DAY);

/** Google's keys, and a push signed with one. */
export const startGoogle = async () => {
  const pushKey = await makePushKey(() => NOW, "faults");
  const keys = await startKeyServer(pushKey);
  return { ...keys, pushAuthorization: `Bearer ${await pushKey.sign()}` };
};

type Items = readonly Record<string, unknown>[];

const COUNTERS: ReadonlySet<string> = new Set(["version", "revision"]);

/** Names customers in the order of their creation, which is the order of their identifiers. */
const namesOf = (items: Items, rootUrl: string) => {
  const customers = items.flatMap(({ sk, customer }) => (sk === "CUSTOMER" ? [String(customer)] : [])).sort();
  return (text: string): string =>
    customers
      .reduce((named, customer, index) => named.replaceAll(customer, `customer-${index + 1}`), text)
      .replaceAll(new URL(rootUrl).origin, "android-store");
};

const readAnswer = z.pick(accountEntitlements(), { entitlements: true });

/** A database behind a proxy and a store, in the state before the scenario's call. */
export const openWorld = async (
  { before = [] }: Scenario,
  google: Awaited<ReturnType<typeof startGoogle>>,
) => {
  const endpoint = process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "";
  const proxy = await startFaultProxy(endpoint);
  const store = await startAndroidStore({ now: () => NOW });
  const table = await createTestTable();
  const { sandbox, rootUrl, androidPackage } = store;
  const notifications = { serviceAccount: SERVICE_ACCOUNT, audience: AUDIENCE };
  const manifest = manifestFrom(
    {
      application: { identifier: APPLICATION, name: "Trails" },
      stores: {
        "ios-store": [{ bundleIdentifier: NAME, appAppleIdentifier: APPLE_ID }],
        "android-store": [{ ...androidPackage, notifications }],
      },
      entitlements: { premium: { displayName: "Premium" }, basics: {}, maps: {} },
      products: PRODUCTS,
    },
    { trustsOrigin: originOf(rootUrl) },
  );
  await saveApplication(table, manifest);
  /** Configuration of a process whose requests go through the proxy. */
  const options: ServiceOptions = {
    tableName: table.name,
    endpoint: proxy.endpoint,
    trustedRoots: [fingerprintOf(chain.root)],
    androidPublisherUrl: rootUrl,
    googleCertificatesUrl: google.url,
    pushAuthorization: google.pushAuthorization,
    application: APPLICATION,
    moment: NOW,
  };
  const answer = (body: typeof PENDING_ANSWER): void =>
    sandbox.put(TOKEN, { packageName: NAME, productKind: "subscription", answer: body });
  answer(answerUntil(NOW + DAY));
  const earlier = openService({ ...options, endpoint, moment: EARLIER });
  for (const call of before) await earlier.perform(call);
  answer(PENDING_ANSWER);
  const service = openService(options);
  const direct = openService({ ...options, endpoint });
  return {
    proxy,
    sandbox,
    options,
    perform: service.perform,
    /**
     * Everything stored, but for counters of writes; whether the purchase is acknowledged; the account's entitlements, and
     * those that are active.
     */
    state: async () => {
      const stored = await table.items();
      /** Names in place of customers' identifiers, which differ between worlds. */
      const named = namesOf(stored, rootUrl);
      const { entitlements } = readAnswer.parse(await direct.perform({ useCase: "read", account: ACCOUNT }));
      const { acknowledgementState } = Object(sandbox.read(TOKEN)?.answer);
      return {
        items: stored
          .map((item) => named(canonical(item, COUNTERS)))
          .sort()
          .join("\n"),
        acknowledged: acknowledgementState === "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
        entitlements: named(JSON.stringify(entitlements)),
        active: entitlements.flatMap(({ active, identifier }) => (active ? [identifier] : [])),
        named,
      };
    },
    close: async () => {
      for (const one of [earlier, service, direct]) one.close();
      await Promise.all([table.remove(), proxy.stop(), store.close()]);
    },
  };
};

export type World = Awaited<ReturnType<typeof openWorld>>;
