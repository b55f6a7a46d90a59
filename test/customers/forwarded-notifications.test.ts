import { ServiceError } from "../../lib/contract/errors.ts";
import type { IosStoreNotifications } from "../../lib/applications/fields.ts";
import {
  receiveIosStoreNotification,
  type IosStoreReception,
} from "../../lib/customers/receive-ios-store-notification.ts";
import { createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import { createStoreRequestQueue } from "../../lib/table/telling/store-requests.ts";
import { fingerprintOf, makeChain, signJws, type SigningChain } from "../../sandbox/ios-store/signing.ts";
import { anApplication } from "../../testing/support/application.ts";
import {
  aBundle,
  aNotification,
  aTransaction,
  BUNDLE,
  type Payload,
} from "../../testing/support/ios-store.ts";
import { NOW } from "../../testing/support/purchases.ts";
import { aUseCaseTable } from "../../testing/support/use-case-table.ts";
import { createWorld } from "../../testing/support/world.ts";

const chain = makeChain();
const TO_OLD: IosStoreNotifications = { forwardTo: "https://old.example/apple" };

const table = await aUseCaseTable();

const aBundleThatForwards = (
  notifications: IosStoreNotifications | null = TO_OLD,
  changes: Partial<IosStoreReception> = {},
) => {
  const application = anApplication({
    iosStore: [aBundle({ environments: ["production"], notifications })],
  });
  const world = createWorld(table, { application, now: () => NOW });
  const forwarded: unknown[] = [];
  const reception: IosStoreReception = {
    ...world.factStore,
    directory: world.directory,
    verifier: createIosStoreVerifier(),
    trustedRoots: new Set([fingerprintOf(chain.root)]),
    note: () => Promise.resolve(),
    requests: createStoreRequestQueue(table),
    onReceived: () => undefined,
    forward: (of, bundle) => {
      forwarded.push([of, bundle]);
      return Promise.resolve();
    },
    ...changes,
  };
  const notify = async (fields: Payload = {}, signer: SigningChain = chain): Promise<string> => {
    const payload = aNotification(chain, { transaction: aTransaction({}) }, fields);
    const request = { signedPayload: signJws(payload, signer) };
    return receiveIosStoreNotification(reception, request).then(
      () => "OK",
      (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
    );
  };
  return { notify, forwarded, place: [application.identifier, BUNDLE] };
};

test("a verified notification is forwarded", async () => {
  const { notify, forwarded, place } = aBundleThatForwards();
  expect(await notify()).toBe("OK");
  expect(forwarded).toEqual([place]);
});

test("a forged notification is not forwarded", async () => {
  const { notify, forwarded } = aBundleThatForwards();
  expect(await notify({}, makeChain())).toBe("INVALID_NOTIFICATION");
  expect(forwarded).toEqual([]);
});

test.each<[what: string, notifications: IosStoreNotifications | null]>([
  ["a bundle that does not forward", null],
  ["a bundle whose notifications another service forwards", { forwardedBy: true }],
])("a notification of %s is not forwarded", async (_, notifications) => {
  const { notify, forwarded } = aBundleThatForwards(notifications);
  expect(await notify()).toBe("OK");
  expect(forwarded).toEqual([]);
});

test("a notification that this service cannot store is forwarded", async () => {
  const { notify, forwarded, place } = aBundleThatForwards(TO_OLD, {
    write: () => Promise.reject(new Error("The table does not answer.")),
  });
  expect(await notify()).toBe("STORE_UNAVAILABLE");
  expect(forwarded).toEqual([place]);
});

test("a notification that cannot be queued is one that Apple sends again", async () => {
  const { notify } = aBundleThatForwards(TO_OLD, {
    forward: () => Promise.reject(new Error("The table does not answer.")),
  });
  expect(await notify()).toBe("STORE_UNAVAILABLE");
});
