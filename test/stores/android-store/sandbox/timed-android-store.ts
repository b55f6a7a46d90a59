import type { IncomingHttpHeaders } from "node:http";
import { json } from "node:stream/consumers";
import { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import * as z from "zod";
import type { ProductKind } from "../../../../lib/contract/schemas.ts";
import type { Instant } from "../../../../lib/entitlements/time.ts";
import { loadCredential } from "../../../../lib/stores/android-store/publisher.ts";
import { originOf } from "../../../../lib/stores/android-store/workload-identity.ts";
import {
  ONE_TIME_PRODUCT_NOTIFICATIONS,
  SUBSCRIPTION_NOTIFICATIONS,
} from "../../../../sandbox/android-store/notifications.ts";
import type { SandboxPurchase } from "../../../../sandbox/android-store/shop/requests.ts";
import { serve } from "../../../../testing/server.ts";
import {
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  TIMING,
} from "../../../../testing/support/stores/android-store.ts";

const pushBody = z.strictObject({
  message: z.looseObject({ data: z.string(), messageId: z.string() }),
  subscription: z.string(),
});

/** A push as it arrived, with what its data holds. */
interface ReceivedPush {
  readonly headers: IncomingHttpHeaders;
  readonly body: z.output<typeof pushBody>;
  readonly notification: Readonly<Record<string, unknown>>;
}

const typed = (numbers: Readonly<Record<string, number>>) =>
  z
    .object({ notificationType: z.number() })
    .transform(({ notificationType: type }) => Object.keys(numbers).find((name) => numbers[name] === type))
    .optional();
const named = z
  .object({
    subscriptionNotification: typed(SUBSCRIPTION_NOTIFICATIONS),
    oneTimeProductNotification: typed(ONE_TIME_PRODUCT_NOTIFICATIONS),
    voidedPurchaseNotification: z.object({ productType: z.number(), refundType: z.number() }).optional(),
  })
  .transform(
    ({ subscriptionNotification, oneTimeProductNotification, voidedPurchaseNotification: voided }) => {
      if (voided === undefined) return subscriptionNotification ?? `ONE_TIME ${oneTimeProductNotification}`;
      const kind = voided.productType === 1 ? "subscription" : "one-time";
      return `VOIDED ${kind} ${voided.refundType === 1 ? "full" : "partly"}`;
    },
  );

export type TimedAndroidStore = Awaited<ReturnType<typeof startTimedAndroidStore>>;

/** The sandbox Android store with a clock that only the test moves, and an endpoint that keeps what is pushed. */
export const startTimedAndroidStore = async (options: Parameters<typeof startAndroidStore>[0] = {}) => {
  const clock: { now: Instant } = { now: NOW };
  const pushes: ReceivedPush[] = [];
  const answers: number[] = [];
  const endpoint = await serve(async (request, response) => {
    const body = pushBody.parse(await json(request));
    const notification = JSON.parse(Buffer.from(body.message.data, "base64").toString("utf8"));
    pushes.push({ headers: request.headers, body, notification });
    response.writeHead(answers.shift() ?? 200).end();
  });
  const pushUrl = () => `${endpoint.address}/push`;
  const local = await startAndroidStore({ now: () => clock.now, pushUrl, ...options });
  const { sandbox, androidPackage, rootUrl } = local;

  const lookUp = async (purchaseToken: string, productKind: ProductKind = "subscription") =>
    local.store().lookUp(androidPackage, { purchaseToken, productKind, productIdentifier: null });
  let seen = 0;
  /** Names of the notifications pushed since the last call: `RENEWED`, `ONE_TIME PURCHASED`, `VOIDED subscription full`. */
  const told = async (): Promise<string[]> => {
    await sandbox.pushed();
    const fresh = pushes.slice(seen);
    seen = pushes.length;
    return fresh.map(({ notification }) => named.parse(notification));
  };
  const buy = (purchase: Partial<SandboxPurchase> = {}): string =>
    sandbox.buy({
      packageName: PACKAGE_NAME,
      productKind: "subscription",
      productIdentifier: "premium",
      basePlanIdentifier: "monthly",
      ...purchase,
    });
  const acknowledge = async (purchaseToken: string, productKind?: ProductKind): Promise<void> => {
    const answer = await lookUp(purchaseToken, productKind);
    if (answer.outcome !== "verified" || answer.acknowledgement === null)
      throw new Error("There is nothing to acknowledge.");
    await local.store().acknowledge(androidPackage, answer.acknowledgement);
  };
  return {
    ...local,
    clock,
    pushes,
    /** Statuses of the next answers to pushes, one each; then 200. */
    answers,
    /** Moves the clock, stopping at each event on the way. */
    advanceTo: async (moment: Instant): Promise<void> => {
      for (let next = sandbox.nextEventAt(); next !== null && next <= moment; next = sandbox.nextEventAt()) {
        clock.now = Math.max(clock.now, next);
        await sandbox.runUntil(next);
      }
      clock.now = moment;
      await sandbox.runUntil(moment);
    },
    told,
    buy,
    /** Standings of a purchase's lines, as the service reads them. */
    standing: async (purchaseToken: string, productKind?: ProductKind): Promise<string> => {
      const answer = await lookUp(purchaseToken, productKind);
      if (answer.outcome !== "verified") return answer.outcome;
      return answer.purchase.lines.map(({ standing }) => standing).join() || "nothing";
    },
    acknowledge,
    /** Buys, acknowledges, and takes the notifications. */
    own: async (purchase: Partial<SandboxPurchase> = {}): Promise<string> => {
      const token = buy(purchase);
      await acknowledge(token, purchase.productKind);
      await told();
      return token;
    },
    /** A purchase's latest order. */
    orderOf: (purchaseToken: string): string => {
      const stored = sandbox.read(purchaseToken);
      const order =
        stored?.productKind === "subscription"
          ? stored.answer.lineItems?.[0]?.latestSuccessfulOrderId
          : stored?.answer.orderId;
      return order ?? "";
    },
    /** Google's own client. It asks with an access token of the sandbox, and never again. */
    google: async () => {
      const { tokens } = await loadCredential(androidPackage.credential, null, {
        readSecret: () => Promise.resolve(null),
        limits: { timeout: TIMING.request, retryConfig: { retry: 0 }, fetchImplementation: fetch },
        trustsOrigin: originOf(rootUrl),
      });
      const options = { rootUrl, retryConfig: { retry: 0 } };
      return { client: new androidpublisher_v3.Androidpublisher({}), auth: tokens, options };
    },
    /** A request to the sandbox's own endpoints. */
    request: async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${rootUrl}${path}`, {
        method,
        headers: { "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const answered = JSON.parse((await response.text()) || "{}") as Record<string, unknown>;
      return { status: response.status, body: answered };
    },
    close: async (): Promise<void> => {
      await endpoint.stop();
      await local.close();
    },
  };
};

/** A new store before each test of a file. */
export const timedAndroidStoreForEachTest = (
  options: Parameters<typeof startAndroidStore>[0] = {},
): TimedAndroidStore => {
  const timed = {} as TimedAndroidStore;
  beforeEach(async () => void Object.assign(timed, await startTimedAndroidStore(options)));
  afterEach(async () => timed.close());
  return timed;
};
